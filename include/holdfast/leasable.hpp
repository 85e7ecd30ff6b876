// The interface that all kinds of lock share: each can be held as a lease.
#pragma once

#include <holdfast/export.hpp>
#include <holdfast/kind.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/replication.hpp>
#include <holdfast/types.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace holdfast {

class client;
class multi_lock;

namespace session {
class client_lock;
class lockable;
struct acquisition;
}  // namespace session

namespace detail {
class async_access;
}  // namespace detail

// The base of all locks.
//
// Waits: the store's own queue or message wakes a waiter, which also polls at least each config::poll_gap. A
// timed wait ends when its time is up; it waits for its first answer at least 200 ms, or
// config::answer_timeout if that is shorter.
// try_* returns "no" (false, or an empty lease) only if the store said that another owner holds the lock, or
// if another thread of this client is ahead of this one and is asking the store now. A missing answer, a
// missing right, a wrong key and the like throw holdfast::error, or set `ec` in the forms that take one.
//
// Thread safety: all members may be called from any threads at once.
class HOLDFAST_API leasable {
  public:
    leasable(const leasable&) = delete;
    leasable& operator=(const leasable&) = delete;

    // Waits until the lock is held.
    lease acquire(const acquire_options& options = {});
    lease acquire(const acquire_options& options, std::error_code& ec);
    lease acquire(std::error_code& ec) { return acquire({}, ec); }
    // Makes one attempt. Blocks for a round trip.
    lease try_acquire(const acquire_options& options = {});
    lease try_acquire(const acquire_options& options, std::error_code& ec);
    lease try_acquire(std::error_code& ec) { return try_acquire({}, ec); }
    // Waits until the lock is held, or the time is up.
    template <class Rep, class Period>
    lease try_acquire_for(const std::chrono::duration<Rep, Period>& wait,
                          const acquire_options& options = {}) {
        return try_acquire_until_(after_(wait), options);
    }
    template <class Rep, class Period>
    lease try_acquire_for(const std::chrono::duration<Rep, Period>& wait, const acquire_options& options,
                          std::error_code& ec) {
        return try_acquire_until_(after_(wait), options, ec);
    }
    template <class Rep, class Period>
    lease try_acquire_for(const std::chrono::duration<Rep, Period>& wait, std::error_code& ec) {
        return try_acquire_until_(after_(wait), {}, ec);
    }
    template <class Clock, class Duration>
    lease try_acquire_until(const std::chrono::time_point<Clock, Duration>& when,
                            const acquire_options& options = {}) {
        return try_acquire_until_(from_now_(when), options);
    }
    template <class Clock, class Duration>
    lease try_acquire_until(const std::chrono::time_point<Clock, Duration>& when,
                            const acquire_options& options, std::error_code& ec) {
        return try_acquire_until_(from_now_(when), options, ec);
    }
    template <class Clock, class Duration>
    lease try_acquire_until(const std::chrono::time_point<Clock, Duration>& when, std::error_code& ec) {
        return try_acquire_until_(from_now_(when), {}, ec);
    }

    [[nodiscard]] const lock_name& name() const noexcept;

  protected:
    using time_point = boot_clock::time_point;
    struct choices {
        std::optional<std::chrono::milliseconds> ttl{};
        std::optional<bool> renew{};
        bool poll = false;
        std::optional<std::int64_t> total{};  // the permits of a semaphore
        replication replicas{};
    };

    leasable(client& on, lock_name name, kind of, choices chosen, const std::string& policy = {});
    leasable(std::shared_ptr<session::lockable> on, choices chosen);
    ~leasable();

    // Saturates: a wait that is too long is for ever; one of zero or less is one attempt.
    template <class Rep, class Period>
    static time_point after_(const std::chrono::duration<Rep, Period>& wait) {
        const std::chrono::duration<double> seconds = wait;
        if (!(seconds.count() > 0)) return time_point::min();
        if (seconds.count() > 3e9) return time_point::max();
        return boot_clock::now() + std::chrono::ceil<boot_clock::duration>(wait);
    }
    // As fractions: an integer difference with time_point::min() overflows, and would wait for ever.
    template <class Clock, class Duration>
    static time_point from_now_(const std::chrono::time_point<Clock, Duration>& when) {
        using seconds = std::chrono::duration<double>;
        return after_(seconds{when.time_since_epoch()} - seconds{Clock::now().time_since_epoch()});
    }
    struct outcome;

    // Without options the thread owns the lock.
    outcome acquire_(std::optional<time_point> give_up_at, const acquire_options* options);
    [[nodiscard]] session::acquisition how_(std::optional<time_point> give_up_at,
                                            const acquire_options* options) const;
    lease try_acquire_until_(time_point until, const acquire_options& options);
    lease try_acquire_until_(time_point until, const acquire_options& options, std::error_code& ec);

    [[nodiscard]] session::lockable& on() const noexcept { return *on_; }
    // Not for a multi_lock.
    [[nodiscard]] session::client_lock& client_lock() const noexcept;

  private:
    friend class detail::async_access;  // async.hpp
    friend class multi_lock;            // uses its members

    static void check(const choices& chosen);

    std::shared_ptr<session::lockable> on_;
    choices chosen_;
};

// Any lock: a function for all of them takes `lock_type auto& lock`.
template <class T>
concept lock_type = std::derived_from<T, leasable>;

}  // namespace holdfast
