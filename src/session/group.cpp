#include "session/group.hpp"

#include "session/client_state.hpp"
#include "session/group_acquire.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace holdfast::session {

namespace {

constexpr std::string_view between = " + ";

bool has_permits(const group::member& m) { return engine::rules_of(m.of->key().of).most_permits > 1; }

auto place(const group::member& m) {
    return std::tie(m.of->key().name, m.of->key().of, m.of->client().settings.url);
}

// Sorts the members into the order of acquisition that all clients share.
std::vector<group::member> checked(std::vector<group::member> all) {
    if (all.empty()) throw error(errc::invalid_argument, "a multi_lock needs one lock at least");
    std::ranges::sort(all, {}, place);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& one = *all[i].of;
        const auto name = "\"" + one.name().printable() + "\"";
        const auto same = [&](const group::member& other) {
            return other.of->key().name == one.key().name &&
                   other.of->client().settings.url == one.client().settings.url;
        };
        if (std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), same))
            throw error(errc::invalid_argument, "the lock " + name + " is given twice");
    }
    return all;
}

lock_name name_of(const std::vector<group::member>& all) {
    std::string joined;
    for (const auto& one : all) {
        if (!joined.empty()) joined += between;
        joined += one.of->name().str();
        if (joined.size() > lock_name::max_size) break;
    }
    return lock_name{joined.substr(0, lock_name::max_size)};
}

// The handlers of pending answers keep it alive.
class async_group_acquire final : public under_way, public std::enable_shared_from_this<async_group_acquire> {
  public:
    async_group_acquire(std::shared_ptr<const group> of, const acquisition& how,
                        callback<void(lockable::outcome)> done)
        : of_(of), all_(std::move(of), how), done_(std::move(done)) {}

    void begin() { go_on(all_.begin()); }

    void cancel() override {
        base::guard lock(mutex_);
        cancelled_ = true;
        const auto pending = pending_;
        lock.unlock();
        if (pending) pending->cancel();
    }

  private:
    void go_on(const engine::all_action& action) {
        const auto me = shared_from_this();
        if (const auto* const next = std::get_if<engine::acquire_member>(&action)) {
            acquire(*next);
        } else if (std::holds_alternative<engine::release_all_held>(action)) {
            all_.release_all_later([me] { me->go_on(me->all_.on_all_released()); });
        } else if (const auto* const got = std::get_if<engine::hold_all>(&action)) {
            done_(all_.end(*got));
        } else {
            done_(all_.end(std::get<engine::end_without>(action)));
        }
    }

    // The answer may come, and the next request be sent, before acquire_later returns.
    void acquire(const engine::acquire_member& next) {
        base::guard lock(mutex_);
        const auto turn = ++turn_;
        lock.unlock();
        const auto request = all_.request_for(next);
        if (request.in_hand) {
            request.of.client().call_user([of = of_, name = request.of.name()] { of->report_waiting(name); });
        }
        const auto pending = request.of.acquire_later(
            request.how,
            [me = shared_from_this()](lockable::outcome o) { me->go_on(me->all_.on_outcome(std::move(o))); });
        lock.lock();
        if (turn != turn_) return;
        pending_ = pending;
        if (!cancelled_ || !pending) return;
        lock.unlock();
        pending->cancel();
    }

    const std::shared_ptr<const group> of_;
    group_acquire all_;
    callback<void(lockable::outcome)> done_;
    base::mutex mutex_;
    bool cancelled_ GUARDED_BY(mutex_) = false;
    std::uint64_t turn_ GUARDED_BY(mutex_) = 0;
    std::shared_ptr<under_way> pending_ GUARDED_BY(mutex_);  // the request of this turn
};

}  // namespace

group::group(std::vector<member> members, boot_clock::duration patience, waiting on_wait)
    : members_(checked(std::move(members))),
      name_(name_of(members_)),
      patience_(patience),
      waiting_(std::move(on_wait)) {}

void group::report_waiting(const lock_name& name) const noexcept try {
    if (waiting_) waiting_(name);
} catch (...) {
}

void group::check_usable() const {
    for (const auto& one : members_) one.of->check_usable();
}

lockable::outcome group::acquire(const acquisition& how) {
    if (how.by_thread && std::ranges::any_of(members_, has_permits))
        return failed{errc::invalid_argument,
                      "a semaphore is held by a lease only: acquire() \"" + name_.printable() + "\"",
                      {},
                      {}};
    group_acquire all(shared_from_this(), how);
    auto action = all.begin();
    for (;;) {
        if (const auto* const next = std::get_if<engine::acquire_member>(&action)) {
            const auto request = all.request_for(*next);
            if (request.in_hand) report_waiting(request.of.name());
            action = all.on_outcome(request.of.acquire(request.how));
        } else if (std::holds_alternative<engine::release_all_held>(action)) {
            all.release_all();
            action = all.on_all_released();
        } else if (const auto* const got = std::get_if<engine::hold_all>(&action)) {
            return all.end(*got);
        } else {
            return all.end(std::get<engine::end_without>(action));
        }
    }
}

std::shared_ptr<under_way> group::acquire_later(const acquisition& how, callback<void(outcome)> done) {
    const auto b = std::make_shared<async_group_acquire>(shared_from_this(), how, std::move(done));
    b->begin();
    return b;
}

void group::unlock() noexcept {
    for (auto one = members_.rbegin(); one != members_.rend(); ++one) one->of->unlock();
}

std::optional<lockable::thread_status> group::held_here() const {
    thread_status all{true, fence::none};
    for (const auto& one : members_) {
        const auto here = one.of->held_here();
        if (!here) return std::nullopt;
        all.valid = all.valid && here->valid;
    }
    return all;
}

}  // namespace holdfast::session
