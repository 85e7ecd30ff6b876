#include "backends/local/space.hpp"

#include "backends/common/record_info.hpp"
#include "backends/common/register_version.hpp"
#include "base/text.hpp"
#include "engine/kinds.hpp"

#include <unistd.h>
#include <algorithm>
#include <type_traits>
#include <utility>

namespace holdfast::local_backend {

namespace {

using namespace backend;

engine::store_time clock_now() { return engine::store_time{boot_clock::now().time_since_epoch()}; }

void run(const std::vector<std::function<void()>>& after) {
    for (const auto& call : after) call();
}

backends::client_seen this_process(const owner_id&) {
    return {{}, ::getpid(), presence::connected, "this process"};
}

}  // namespace

std::shared_ptr<space> space::named(const std::string& name) {
    static base::mutex mutex;
    static std::map<std::string, std::weak_ptr<space>> spaces;
    base::guard lock(mutex);
    auto& known = spaces[name];
    auto s = known.lock();
    if (!s) known = s = std::make_shared<space>();
    return s;
}

template <class Request>
auto space::apply(const lock_name& name, const Request& request, calls& after) {
    auto& record = records_[name];
    const auto fenced_before = record.last_fence;
    auto done = engine::apply(
        record, request,
        {.now = clock_now(),
         .ticket = next_ticket_++,
         .next_fence = static_cast<fence>(next_fence_),
         .reaches = [this](kind of, const owner_id& owner) { return waiters_.find(of, owner) != nullptr; }});
    if (record.last_fence != fenced_before) next_fence_ += fences_per_grant;
    const auto notified = notify(name, done.notify, after);
    if constexpr (std::is_same_v<decltype(done.answer), release_answer>) {
        if (auto* const yes = std::get_if<released>(&done.answer)) yes->listeners = notified;
    }
    if (record.idle()) records_.erase(name);
    return std::move(done.answer);
}

std::uint32_t space::notify(const lock_name& name, const engine::messages& what, calls& after) {
    for (const auto& to : what.handed) {
        if (auto waiting = waiters_.find(to.of, to.owner))
            after.emplace_back([waiting = std::move(waiting), ticket = to.ticket] {
                (*waiting)({watch_event::change::woken, {ticket}});
            });
    }
    if (!what.all) return 0;
    auto all = waiters_.all_of(name, what.but);
    for (auto& waiting : all) after.emplace_back([waiting] { (*waiting)({watch_event::change::woken, {}}); });
    return static_cast<std::uint32_t>(all.size());
}

template <class Request>
auto space::act(const lock_name& name, const Request& request) {
    calls after;
    auto answer = [&] {
        base::guard lock(mutex_);
        return apply(name, request, after);
    }();
    run(after);
    return answer;
}

// --- operations ------------------------------------------------------------------------------------

attempt_answer space::attempt(const attempt_request& r) { return act(r.key.name, r); }

renew_answer space::renew(const renew_request& r) { return act(r.key.name, r); }

release_answer space::release(const release_request& r) { return act(r.key.name, r); }

adjust_answer space::adjust(const adjust_request& r) { return act(r.key.name, r); }

lock_info space::inspect(const lock_name& name) {
    base::guard lock(mutex_);
    const auto it = records_.find(name);
    if (it == records_.end()) return {name, "free", false, {}, {}, {}, {}, {}};
    return backends::describe(name, it->second, clock_now(), this_process);
}

std::vector<lock_info> space::list(const std::string& glob) {
    base::guard lock(mutex_);
    std::vector<lock_info> found;
    const auto now = clock_now();
    for (const auto& [name, r] : records_) {
        if (!base::glob_match(glob, name.str())) continue;
        if (auto info = backends::describe(name, r, now, this_process); !info.holders.empty())
            found.push_back(std::move(info));
    }
    return found;
}

std::vector<evicted> space::evict(const lock_name& name, const std::vector<std::string>& owners) {
    calls after;
    std::vector<evicted> taken;
    {
        base::guard lock(mutex_);
        const auto it = records_.find(name);
        if (it == records_.end()) return {};
        for (const auto& one : backends::evictions_of(name, it->second, owners, clock_now())) {
            const auto answer = apply(name, one.request, after);
            if (std::holds_alternative<released>(answer))
                taken.push_back({one.request.owner.str(), one.left});
        }
    }
    run(after);
    return taken;
}

asked space::ask_to_give_up(const lock_name& name, const holder_info& of) {
    const auto& owner = of.owner;
    asked found;
    {
        base::guard lock(mutex_);
        if (const auto it = records_.find(name); it != records_.end())
            found.left = backends::left_of(it->second, owner, clock_now());
    }
    found.holds = found.left.has_value();
    if (found.holds && !of.ask_at.empty()) {
        evictions_.expect(owner);
        base::guard lock(members_mutex_);
        for (auto* const m : members_)
            m->give_up_(owner_id{owner},
                        [self = shared_from_this(), owner] { self->evictions_.confirm(owner); });
        found.listeners = static_cast<std::uint32_t>(members_.size());
    }
    found.gave_up = evictions_.is_confirmed(owner);
    return found;
}

space::member::member(std::shared_ptr<space> of, request on_request)
    : of_(std::move(of)), give_up_(std::move(on_request)) {
    base::guard lock(of_->members_mutex_);
    of_->members_.insert(this);
}

space::member::~member() {
    base::guard lock(of_->members_mutex_);
    of_->members_.erase(this);
}

std::unique_ptr<watch_handle> space::watch(const lock_key& key, const owner_id& owner,
                                           const std::shared_ptr<watch_handler>& on_event) {
    auto handle = backends::waiter_registry::add({shared_from_this(), &waiters_}, key, owner, on_event);
    (*on_event)({watch_event::change::watching, {}});
    return handle;
}

register_value space::read_register(std::string_view name) {
    base::guard lock(mutex_);
    const auto it = registers_.find(name);
    return it == registers_.end() ? register_value{} : it->second;
}

register_value space::change_register(std::string_view name, std::uint64_t expected, std::string_view text) {
    base::guard lock(mutex_);
    const auto it = registers_.find(name);
    auto now = it == registers_.end() ? register_value{} : it->second;
    if (now.version != expected) return now;
    const register_value next{backends::next_register_version(expected), std::string{text}};
    return registers_.insert_or_assign(std::string{name}, next).first->second;
}

}  // namespace holdfast::local_backend
