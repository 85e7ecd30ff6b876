#include "cli/run/acquire_locks.hpp"

#include "cli/output/error_output.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/error.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace holdfast::cli {

namespace {

std::shared_ptr<leasable> lock_of(client& on, const std::string& name, const lock_request& wanted) {
    switch (wanted.kind) {
        case kind::native:
            return std::make_shared<mutex>(
                on, name, mutex_options{.replicas = wanted.replicas, .policy = wanted.policy});
        case kind::native_fenced:
            return std::make_shared<mutex>(
                on, name,
                mutex_options{.fenced = true, .replicas = wanted.replicas, .policy = wanted.policy});
        case kind::recursive:
            return std::make_shared<recursive_mutex>(
                on, name, recursive_options{.replicas = wanted.replicas, .policy = wanted.policy});
        case kind::recursive_fenced:
            return std::make_shared<fenced_mutex>(
                on, name, lock_options{.replicas = wanted.replicas, .policy = wanted.policy});
        case kind::fair:
            return std::make_shared<fair_mutex>(
                on, name, lock_options{.replicas = wanted.replicas, .policy = wanted.policy});
        case kind::shared_read: {
            const auto whole = std::make_shared<shared_mutex>(
                on, name, lock_options{.replicas = wanted.replicas, .policy = wanted.policy});
            return {whole, &whole->readers()};
        }
        case kind::semaphore:
            return std::make_shared<counting_semaphore>(
                on, name, semaphore_options{.total = wanted.of, .replicas = wanted.replicas});
        case kind::permit_semaphore:
            return std::make_shared<permit_semaphore>(
                on, name, semaphore_options{.total = wanted.of, .replicas = wanted.replicas});
        case kind::latch: throw std::logic_error("a latch cannot be held");
        case kind::shared_write: break;
    }
    return std::make_shared<shared_mutex>(on, name,
                                          lock_options{.replicas = wanted.replicas, .policy = wanted.policy});
}

// Errors that may pass during a wait.
bool may_pass(const std::error_code& why) {
    return why == errc::quarantined || why == errc::unavailable || why == errc::busy_server ||
           why == errc::unknown_outcome;
}

}  // namespace

bool lacks_permits(const lock_info& seen, const lock_request& wanted) {
    return has_permits(wanted.kind) && !wanted.of && seen.layout == "free";
}

acquire_locks::acquire_locks(client& on, lock_request wanted)
    : on_(on), wanted_(std::move(wanted)), begun_(boot_clock::now()) {
    std::ranges::sort(wanted_.names);
    thread_ = std::jthread{[this] { work(); }};
}

acquire_locks::~acquire_locks() {
    cancel();
    if (thread_.joinable()) thread_.join();
}

void acquire_locks::work() {
    outcome what = outcome::failed;
    try {
        what = acquire_all();
    } catch (const error& e) {
        if (e.code() == errc::cancelled) {
            what = outcome::cancelled;
        } else {
            failure_ = std::current_exception();
        }
    } catch (...) {
        failure_ = std::current_exception();
    }
    if (what == outcome::acquired || what == outcome::cancelled) {
        const auto lost =
            std::ranges::find_if(locks_, [](const held_lock& one) { return one.hold && !one.hold.valid(); });
        if (lost != locks_.end()) {
            lost_lock_ = lost->name;
            what = outcome::lost;
        }
    }
    if (what != outcome::acquired) release_all();
    publish({what, {}});
}

acquire_locks::outcome acquire_locks::acquire_all() {
    // When one is lost, waiting for the others is of no use, and no command runs that would have to be ended
    // before the release.
    const auto end_wait = [this] { stop_.request_stop(); };
    std::deque<std::stop_callback<decltype(end_wait)>> when_lost;
    for (const auto& name : wanted_.names) {
        auto& one = locks_.emplace_back();
        one.name = name;
        one.lock = lock_of(on_, one.name, wanted_);
        one.hold = acquire(one);
        if (!one.hold) {
            look_for_permits(one.name);
            return outcome::conflict;
        }
        one.waited = std::chrono::floor<std::chrono::milliseconds>(boot_clock::now() - begun_);
        when_lost.emplace_back(one.hold.lost_token(), end_wait);
    }
    return outcome::acquired;
}

// A courtesy after a wait: without an answer nothing is reported.
void acquire_locks::look_for_permits(const std::string& name) {
    if (!has_permits(wanted_.kind) || wanted_.of || stop_.stop_requested()) return;
    try {
        if (lacks_permits(admin::inspect(on_, name), wanted_)) without_permits_ = name;
    } catch (const error&) {
        // It is not known why no permit was granted.
    }
}

// A lock that was handed off has a short lease until its first renewal. The command and its guard get the
// whole one: on a busy machine they need a while to start. No command runs yet, so a lock lost here is
// acquired again.
lease acquire_locks::acquire(held_lock& one) {
    const std::chrono::nanoseconds whole = wanted_.ttl.value_or(on_.settings().lease);
    for (;;) {
        auto hold = try_or_wait(one);
        if (!hold || hold.remaining() > whole / 2 || hold.renew() || hold.valid()) return hold;
    }
}

lease acquire_locks::try_or_wait(held_lock& one) {
    const acquire_options how{.ttl = wanted_.ttl,
                              .renew = true,
                              .stop = stop_.get_token(),
                              .at_least = wanted_.at_least,
                              .permits = wanted_.permits};
    state while_waiting{outcome::pending, one.name};
    const auto may_wait = [&] { return !wanted_.wait || time_left()->count() > 0; };
    // A first try takes as long as the server needs to answer. If less time is left, this process asks only
    // once.
    if (const auto left = time_left(); left && may_wait() && *left < on_.settings().answer_timeout)
        return one.lock->try_acquire_for(*left, how);
    try {
        if (auto hold = one.lock->try_acquire(how)) return hold;
    } catch (const error& e) {
        if (!may_pass(e.code()) || !may_wait()) throw;
        while_waiting = {outcome::pending, {}, e.what()};
    }
    if (!may_wait()) return {};
    const auto left = time_left();
    publish(std::move(while_waiting));
    auto hold = left ? one.lock->try_acquire_for(*left, how) : one.lock->acquire(how);
    publish({outcome::pending, {}});
    return hold;
}

std::optional<std::chrono::nanoseconds> acquire_locks::time_left() const {
    if (!wanted_.wait) return std::nullopt;
    return *wanted_.wait - (boot_clock::now() - begun_);
}

void acquire_locks::release_all() noexcept {
    for (auto one = locks_.rbegin(); one != locks_.rend(); ++one) one->hold.release();
    locks_.clear();
}

void acquire_locks::publish(state now) {
    {
        const std::lock_guard hold{guard_};
        state_ = std::move(now);
    }
    wake_.notify();
}

acquire_locks::state acquire_locks::progress() {
    wake_.clear();
    const std::lock_guard hold{guard_};
    return state_;
}

}  // namespace holdfast::cli
