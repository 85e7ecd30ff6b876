// Locks with one holder at a time.
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/leasable.hpp>

#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

namespace holdfast {

// The base of all locks with one holder at a time. A lock can be held in two ways:
//   as a standard lock (lock, unlock, std::lock_guard, std::unique_lock): owned by the thread;
//   as a lease (acquire, try_acquire... of leasable): owned by the lease object, on whichever thread.
//
// Do not destroy the last lock object of a name while a thread holds the lock by lock(): nothing could unlock
// it then. If that happens, the lock is no longer renewed and expires, and the event release_failed
// reports that; a library built without NDEBUG ends the process.
class HOLDFAST_API exclusive_lock : public leasable {
  public:
    using clock = boot_clock;

    // --- as a standard TimedLockable -----------------------------------------------------------
    // Blocks until the lock is held.
    void lock();
    // Makes one attempt. Blocks for a round trip.
    [[nodiscard]] bool try_lock();
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return try_lock_until_(after_(wait));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& when) {
        return try_lock_until_(from_now_(when));
    }
    // Never throws: errors (not the owner, lost, no answer) are reported to the client's events. Blocks for a
    // round trip, at most config::answer_timeout. If the calling thread does not hold the lock, unlock() only
    // reports that; a library built without NDEBUG ends the process.
    void unlock() noexcept;

    // --- under a standard guard ----------------------------------------------------------------
    // True if this thread took the lock with lock() and has not unlocked it, even if the lease has ended
    // since.
    [[nodiscard]] bool held_by_this_thread() const noexcept;
    // lease::valid() of that hold; false if there is none.
    [[nodiscard]] bool valid() const noexcept;
    // lease::fence() of that hold; fence::none if there is none.
    [[nodiscard]] fence held_fence() const noexcept;

  protected:
    using leasable::leasable;

    lease nested_(const lease& outer);
    // Returns a lease of this side of a shared mutex to the holder of `other`, a lease of the other side.
    lease beside_(const lease& other, const acquire_options& options);

  private:
    bool try_lock_until_(boot_clock::time_point until);
};

// The options of every kind of lock.
struct lock_options {
    std::optional<std::chrono::milliseconds> ttl{};  // default of acquire_options::ttl for this lock
    std::optional<bool> renew{};                     // default of acquire_options::renew
    replication replicas{};  // how many replicas must confirm a grant before it counts
    std::string policy{};    // config::policies; empty: the one whose pattern matches the name (policy.hpp)
};

// As lock_options.
struct mutex_options {
    std::optional<std::chrono::milliseconds> ttl{};  // default of acquire_options::ttl for this lock
    std::optional<bool> renew{};                     // default of acquire_options::renew
    bool fenced = false;     // every grant carries a fence; costs a script instead of a SET
    replication replicas{};  // how many replicas must confirm a grant before it counts
    std::string policy{};    // config::policies; empty: the one whose pattern matches the name (policy.hpp)
};

// The default lock: not re-entrant, first come first served among holdfast's waiters. The same lock as that
// of redis-py, redsync, node-redlock and all others that SET NX PX an owner token. If a thread holds it by
// lock() and locks it again, lock() throws errc::would_deadlock and try_lock() returns false. acquire()
// belongs to no thread: it waits even for the calling thread's own lock().
class HOLDFAST_API mutex : public exclusive_lock {
  public:
    mutex(client& on, lock_name name, const mutex_options& options = {});
};

// How a waiter of a recursive_mutex learns of a release.
enum class wake {
    message,  // by Redisson's channel, and by polling
    poll,     // only by polling (Redisson's RSpinLock)
};

// As lock_options.
struct recursive_options {
    std::optional<std::chrono::milliseconds> ttl{};
    std::optional<bool> renew{};
    enum wake wake = wake::message;
    replication replicas{};
    std::string policy{};
};

// The same lock as Redisson's RLock. A thread that holds it by lock() may lock it again; the last unlock()
// releases it. Nested holds keep the fence and never shorten the lease of the outer hold. A nested hold with
// a longer ttl extends the lease once the store has agreed. If the outer hold has a ttl
// and a nested one has none, the lease is renewed until the last unlock().
class HOLDFAST_API recursive_mutex : public exclusive_lock {
  public:
    recursive_mutex(client& on, lock_name name, const recursive_options& options = {});

    using exclusive_lock::acquire;
    // Another hold of the same lease: releasing the last of them releases the lock. Does not block. Throws
    // errc::not_owner if `outer` is not a lease of this lock, errc::lost if it has ended.
    lease acquire(const lease& outer) { return nested_(outer); }
};

// The same lock as Redisson's RFencedLock: a recursive_mutex whose grants each carry a fence greater than all
// before it, including Java's. The fences come from a counter in the store: if the store loses it, they start
// again from the beginning (those of mutex{.fenced = true} do not: docs/safety.md S1).
class HOLDFAST_API fenced_mutex : public exclusive_lock {
  public:
    fenced_mutex(client& on, lock_name name, const lock_options& options = {});

    using exclusive_lock::acquire;
    // As recursive_mutex::acquire(outer); the fence is that of the outer lease.
    lease acquire(const lease& outer) { return nested_(outer); }
};

// The same lock as Redisson's RFairLock: recursive, and granted to all waiters, in any process and language,
// in the order in which they came. Slower than the others: there is no hand-off inside a process. A killed
// waiter delays those behind it by redis_settings::fair_liveness when its turn comes.
class HOLDFAST_API fair_mutex : public exclusive_lock {
  public:
    fair_mutex(client& on, lock_name name, const lock_options& options = {});

    using exclusive_lock::acquire;
    // As recursive_mutex::acquire(outer).
    lease acquire(const lease& outer) { return nested_(outer); }
};

namespace detail {

template <class Fn>
decltype(auto) call_with(Fn&& fn, lease& held) {
    if constexpr (requires { std::forward<Fn>(fn)(held); })
        return std::forward<Fn>(fn)(held);
    else
        return std::forward<Fn>(fn)();
}
template <class Fn>
using result_with = decltype(call_with(std::declval<Fn>(), std::declval<lease&>()));

// Throws errc::lost if the lease had ended.
HOLDFAST_API void release_after_work(lease& held, const lock_name& name);

template <class Fn>
decltype(auto) run_with(lease held, const lock_name& name, Fn&& fn) {
    if constexpr (std::is_void_v<result_with<Fn>>) {
        call_with(std::forward<Fn>(fn), held);
        release_after_work(held, name);
    } else {
        decltype(auto) value = call_with(std::forward<Fn>(fn), held);
        release_after_work(held, name);
        return value;
    }
}

}  // namespace detail

// Runs `fn` while it holds the lock, and returns what `fn` returns; `fn` may take the lease. Throws
// errc::lost if the lease ended before `fn` did, since another holder may have run at the same time.
template <lock_type Lock, class Fn>
decltype(auto) with_lock(Lock& lock, const acquire_options& options, Fn&& fn) {
    return detail::run_with(lock.acquire(options), lock.name(), std::forward<Fn>(fn));
}
template <lock_type Lock, class Fn>
decltype(auto) with_lock(Lock& lock, Fn&& fn) {
    return with_lock(lock, acquire_options{}, std::forward<Fn>(fn));
}

// The same, if the lock is held within `wait`. Returns what `fn` returns in an optional, or true; if another
// owner holds the lock for the whole wait, an empty optional, or false.
template <lock_type Lock, class Rep, class Period, class Fn>
auto try_with_lock_for(Lock& lock, const std::chrono::duration<Rep, Period>& wait, Fn&& fn) {
    using result = detail::result_with<Fn>;
    lease held = lock.try_acquire_for(wait);
    if constexpr (std::is_void_v<result>) {
        if (!held) return false;
        detail::run_with(std::move(held), lock.name(), std::forward<Fn>(fn));
        return true;
    } else {
        std::optional<std::decay_t<result>> value;
        if (held) value = detail::run_with(std::move(held), lock.name(), std::forward<Fn>(fn));
        return value;
    }
}

}  // namespace holdfast
