#include "backends/local/space.hpp"

#include "base/text.hpp"

#include <unistd.h>
#include <algorithm>
#include <utility>

namespace holdfast::local_backend {

namespace {

using namespace backend;

constexpr milliseconds handed_lease{3000};
constexpr milliseconds queue_ttl{120'000};

time_point add(time_point now, milliseconds lease) {
    return lease > time_point::max() - now ? time_point::max() : now + lease;
}

refused wrong_kind() { return {{make_error_code(errc::wrong_kind), {}}}; }

// A fence is no kind of its own: fenced and plain mutexes are one lock, as they are on Redis.
bool same_lock(kind a, kind b) { return (a == kind::recursive) == (b == kind::recursive); }

void run(const std::vector<std::function<void()>>& after) {
    for (const auto& call : after) call();
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

attempt_answer space::attempt(const attempt_request& r) {
    calls after;
    attempt_answer answer = [&]() -> attempt_answer {
        base::guard lock(mutex_);
        const auto now = boot_clock::now();
        const auto [it, fresh] = slots_.try_emplace(r.key.name, slot{r.key.of, {}, 1, {}, {}, 0});
        auto& s = it->second;
        if (s.held(now) && !same_lock(s.of, r.key.of)) return wrong_kind();
        const bool queues = r.want == intent::queue && r.key.of != kind::recursive;
        if (!s.held(now)) {
            s.owner = {};
            // The first in line goes first; it may be the one that asks.
            if (!s.queue.empty() && s.queue.front().owner == r.owner)
                s.queue.pop_front();
            else if (!s.queue.empty() && pass(s, after)) {
                // Somebody else has it now.
            }
        }
        if (!s.held(now) || s.owner == r.owner) {
            const auto until = add(now, r.lease);
            s.expires = s.owner == r.owner ? std::max(s.expires, until) : until;
            s.of = r.key.of;
            s.owner = r.owner;
            s.holds = 1;
            std::erase_if(s.queue, [&](const waiter& w) { return w.owner == r.owner; });
            if (r.key.of != kind::native_fenced) return granted{};
            s.last_fence = next_fence_;
            next_fence_ += 16;
            return granted{static_cast<fence>(s.last_fence)};
        }
        busy no{s.owner.str(), std::nullopt, {}, {}};
        no.look_again = std::chrono::ceil<milliseconds>(s.expires - now) + milliseconds{1};
        if (!queues) return no;
        auto mine =
            std::find_if(s.queue.begin(), s.queue.end(), [&](const waiter& w) { return w.owner == r.owner; });
        if (mine == s.queue.end()) mine = s.queue.insert(mine, {r.owner, next_ticket_++, now, {}});
        mine->forgotten_at = now + queue_ttl;
        if (r.key.of == kind::native) no.ticket = std::to_string(mine->ticket);
        no.handed_lease = handed_lease;
        no.look_again = std::min(*no.look_again, std::max(r.lease / 3, milliseconds{1}));
        return no;
    }();
    run(after);
    return answer;
}

renew_answer space::renew(const renew_request& r) {
    base::guard lock(mutex_);
    const auto now = boot_clock::now();
    const auto it = slots_.find(r.key.name);
    if (it == slots_.end() || !it->second.held(now) || it->second.owner != r.owner) return renew_answer::lost;
    it->second.expires = std::max(it->second.expires, add(now, r.lease));
    if (r.holds != 0) it->second.holds = r.holds;
    return renew_answer::renewed;
}

release_answer space::release(const release_request& r) {
    calls after;
    release_answer answer = [&]() -> release_answer {
        base::guard lock(mutex_);
        const auto now = boot_clock::now();
        const auto it = slots_.find(r.key.name);
        if (it == slots_.end()) return not_held{};
        auto& s = it->second;
        if (r.undo) std::erase_if(s.queue, [&](const waiter& w) { return w.owner == r.owner; });
        const bool mine = s.held(now) && s.owner == r.owner;
        if (s.held(now) && !mine) return not_held{};
        s.owner = {};
        const bool passed = pass(s, after);
        std::uint32_t told = 0;
        if (mine && r.key.of == kind::recursive) {
            for (const auto& [owner, w] : watchers_) {
                if (w.key.name != r.key.name || owner == r.owner) continue;
                after.emplace_back([tell = w.tell] { (*tell)({watch_event::change::woken, {}}); });
                ++told;
            }
        }
        forget_if_idle(r.key.name);
        if (!mine) return not_held{};
        return released{told, passed};
    }();
    run(after);
    return answer;
}

bool space::pass(slot& s, calls& after) {
    while (!s.queue.empty()) {
        const auto head = s.queue.front();
        s.queue.pop_front();
        const auto it = watchers_.find(head.owner);
        if (it == watchers_.end() || head.forgotten_at <= boot_clock::now()) continue;
        s.owner = head.owner;
        s.holds = 1;
        s.of = it->second.key.of;
        s.expires = boot_clock::now() + handed_lease;
        // A fence is taken by asking, so that it is newer than every other.
        const auto ticket = s.of == kind::native ? std::to_string(head.ticket) : std::string{};
        after.emplace_back([tell = it->second.tell, ticket] {
            (*tell)({watch_event::change::woken, {ticket}});
        });
        return true;
    }
    return false;
}

void space::forget_if_idle(const lock_name& name) {
    const auto it = slots_.find(name);
    if (it != slots_.end() && it->second.owner.empty() && it->second.queue.empty()) slots_.erase(it);
}

lock_info space::describe(const lock_name& name, const slot& s, time_point now) const {
    lock_info info{name, "free", true, {}, {}, {}, {}};
    if (s.last_fence != 0) info.last_fence = s.last_fence;
    for (const auto& w : s.queue) {
        info.queue.push_back(
            {w.owner.str(), {}, ::getpid(), std::chrono::floor<milliseconds>(now - w.since)});
    }
    if (!s.held(now)) return info;
    info.layout = s.of == kind::recursive ? "recursive_mutex" : "mutex";
    info.ttl = std::chrono::floor<milliseconds>(s.expires - now);
    info.holders.push_back({s.owner.str(), s.holds, {}, ::getpid(), std::nullopt, true});
    return info;
}

lock_info space::inspect(const lock_name& name) {
    base::guard lock(mutex_);
    const auto it = slots_.find(name);
    if (it == slots_.end()) return {name, "free", false, {}, {}, {}, {}};
    return describe(name, it->second, boot_clock::now());
}

std::vector<lock_info> space::list(const std::string& glob) {
    base::guard lock(mutex_);
    std::vector<lock_info> found;
    const auto now = boot_clock::now();
    for (const auto& [name, s] : slots_) {
        if (s.held(now) && base::glob_match(glob, name.str())) found.push_back(describe(name, s, now));
    }
    return found;
}

owner_id space::evict(const lock_name& name) {
    owner_id holder;
    kind of{};
    {
        base::guard lock(mutex_);
        const auto it = slots_.find(name);
        if (it == slots_.end() || !it->second.held(boot_clock::now())) return {};
        holder = it->second.owner;
        of = it->second.of;
    }
    return std::holds_alternative<released>(release({{of, name}, holder, false})) ? holder : owner_id{};
}

void space::watch(const lock_key& key, const owner_id& owner, const std::shared_ptr<watch_handler>& tell) {
    {
        base::guard lock(mutex_);
        watchers_.insert_or_assign(owner, watcher{key, tell});
    }
    (*tell)({watch_event::change::watching, {}});
}

void space::unwatch(const owner_id& owner) {
    base::guard lock(mutex_);
    watchers_.erase(owner);
}

}  // namespace holdfast::local_backend
