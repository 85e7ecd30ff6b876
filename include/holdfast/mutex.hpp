// Locks that one holder has at a time.
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/leasable.hpp>

#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

namespace holdfast {

namespace detail {

// The face that all exclusive locks share. It can be held in two ways and no third:
//   as a standard lock (lock, unlock, std::lock_guard, std::unique_lock): owned by the thread;
//   as a lease (acquire, try_acquire... of leasable): owned by the lease object, whichever thread has it.
// The last lock object of a name must not be destroyed while a thread holds the lock by lock(): nothing could
// unlock it any more. The lock is then not renewed, expires by itself, and the event release_failed says so;
// a library built without NDEBUG ends the process.
class HOLDFAST_API exclusive : public leasable {
  public:
    using clock = boot_clock;

    // --- as a standard TimedLockable -----------------------------------------------------------
    // Blocks until the lock is held.
    void lock();
    // Asks once. Blocks for a round trip.
    [[nodiscard]] bool try_lock();
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return try_lock_until_(after_(wait));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& when) {
        // As fractions: an integer difference with time_point::min() overflows, and would wait for ever.
        using seconds = std::chrono::duration<double>;
        return try_lock_until_(
            after_(seconds{when.time_since_epoch()} - seconds{Clock::now().time_since_epoch()}));
    }
    // Never throws: what goes wrong (not the owner, lost, no answer) is reported to the client's events.
    // Blocks for a round trip, at most config::answer_timeout.
    // An unlock() by a thread that does not hold the lock does nothing but that; a library built without
    // NDEBUG ends the process.
    void unlock() noexcept;

    // --- under a standard guard ----------------------------------------------------------------
    // This thread took it with lock() and has not unlocked it, whether or not the lease has ended since.
    [[nodiscard]] bool held_by_this_thread() const noexcept;
    // lease::valid() of that hold; false if there is none.
    [[nodiscard]] bool valid() const noexcept;
    // lease::fence() of that hold; fence::none if there is none.
    [[nodiscard]] fence held_fence() const noexcept;

  protected:
    using leasable::leasable;

    lease nested_(const lease& outer);
    // A lease of this side of a shared mutex for the holder of `other`, a lease of the other side.
    lease beside_(const lease& other, const acquire_options& options);

  private:
    bool try_lock_until_(boot_clock::time_point until);
};

}  // namespace detail

struct mutex_options {
    std::optional<std::chrono::milliseconds> ttl{};  // default of acquire_options::ttl for this lock
    std::optional<bool> renew{};                     // default of acquire_options::renew
    bool fenced = false;     // every grant carries a fence; costs a script instead of a SET
    replication replicas{};  // who must have a grant before it counts
};

// The default lock: not re-entrant, first come first served among those who wait with holdfast, and the
// same lock as that of redis-py, redsync, node-redlock and all others that SET NX PX a token.
// A thread that holds it by lock() and locks it again gets errc::would_deadlock, and false from try_lock().
// acquire() is on nobody's behalf: it waits for the calling thread's own lock() as for another's.
class HOLDFAST_API mutex : public detail::exclusive {
  public:
    mutex(client& on, lock_name name, mutex_options options = {});
};

// How a waiter of a recursive_mutex learns of a release.
enum class wake {
    message,  // by Redisson's channel, and by asking again
    poll,     // only by asking again (Redisson's RSpinLock)
};

struct recursive_options {
    std::optional<std::chrono::milliseconds> ttl{};
    std::optional<bool> renew{};
    enum wake wake = wake::message;
    replication replicas{};
};

// The same lock as Redisson's RLock. A thread that holds it by lock() may lock it again; it is given
// back with the last unlock(). Nested holds keep the fence and never shorten the lease of the outer. One
// with a longer ttl makes it longer once the store has said yes. One without a ttl inside one that has a
// ttl is renewed, until the last unlock().
class HOLDFAST_API recursive_mutex : public detail::exclusive {
  public:
    recursive_mutex(client& on, lock_name name, recursive_options options = {});

    using exclusive::acquire;
    // Another hold of the same lease: the lock is given back with the last of them. Does not block.
    // Throws errc::not_owner if `outer` is not a lease of this lock, errc::lost if it has ended.
    lease acquire(const lease& outer) { return nested_(outer); }
};

struct fenced_options {
    std::optional<std::chrono::milliseconds> ttl{};
    std::optional<bool> renew{};
    replication replicas{};
};

// The same lock as Redisson's RFencedLock: a recursive_mutex, and every grant carries a fence that is greater
// than all before it, Java's among them. The fences are a counter in the store: if the store loses it, they
// begin anew (those of mutex{.fenced = true} do not: docs/safety.md S1).
class HOLDFAST_API fenced_mutex : public detail::exclusive {
  public:
    fenced_mutex(client& on, lock_name name, fenced_options options = {});

    using exclusive::acquire;
    // As recursive_mutex::acquire(outer); the fence is that of the outer lease.
    lease acquire(const lease& outer) { return nested_(outer); }
};

struct fair_options {
    std::optional<std::chrono::milliseconds> ttl{};
    std::optional<bool> renew{};
    replication replicas{};
};

// The same lock as Redisson's RFairLock: recursive, and all who wait for it, in whichever process and
// language, have it in the order in which they came. Slower than the others: nothing is passed on inside a
// process. A waiter that was killed costs those behind it config::fair_liveness when its turn comes.
class HOLDFAST_API fair_mutex : public detail::exclusive {
  public:
    fair_mutex(client& on, lock_name name, fair_options options = {});

    using exclusive::acquire;
    // As recursive_mutex::acquire(outer).
    lease acquire(const lease& outer) { return nested_(outer); }
};

// Runs `fn` under the lock and returns what it returns. Throws errc::lost if the lease ended before `fn`
// did, since then something else may have run at the same time.
template <class Lock, class Fn>
decltype(auto) with_lock(Lock& lock, Fn&& fn) {
    lease held = lock.acquire();
    const auto give_back = [&] {
        if (held.release() == release_outcome::already_lost) {
            throw error(errc::lost,
                        "the lock \"" + lock.name().printable() + "\" was lost while the work under it ran");
        }
    };
    const auto run = [&]() -> decltype(auto) {
        if constexpr (requires { std::forward<Fn>(fn)(held); }) {
            return std::forward<Fn>(fn)(held);
        } else {
            return std::forward<Fn>(fn)();
        }
    };
    if constexpr (std::is_void_v<decltype(run())>) {
        run();
        give_back();
    } else {
        decltype(auto) value = run();
        give_back();
        return value;
    }
}

}  // namespace holdfast
