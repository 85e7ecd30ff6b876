// The interface that all kinds of lock share: each can be held as a lease.
#pragma once

#include <holdfast/export.hpp>
#include <holdfast/kind.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/replication.hpp>
#include <holdfast/types.hpp>

#include <chrono>
#include <memory>
#include <optional>

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

    lease acquire(const acquire_options& options = {});
    lease acquire(std::error_code& ec, const acquire_options& options = {});
    lease try_acquire(const acquire_options& options = {});
    lease try_acquire(std::error_code& ec, const acquire_options& options = {});
    template <class Rep, class Period>
    lease try_acquire_for(const std::chrono::duration<Rep, Period>& wait,
                          const acquire_options& options = {}) {
        return try_acquire_until_(after_(wait), options);
    }
    template <class Rep, class Period>
    lease try_acquire_for(const std::chrono::duration<Rep, Period>& wait, std::error_code& ec,
                          const acquire_options& options = {}) {
        return try_acquire_until_(after_(wait), ec, options);
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

    leasable(client& on, lock_name name, kind of, choices chosen);
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
    struct outcome;

    // Without options the thread owns the lock.
    outcome acquire_(std::optional<time_point> give_up_at, const acquire_options* options);
    [[nodiscard]] session::acquisition how_(std::optional<time_point> give_up_at,
                                            const acquire_options* options) const;
    lease try_acquire_until_(time_point until, const acquire_options& options);
    lease try_acquire_until_(time_point until, std::error_code& ec, const acquire_options& options);

    [[nodiscard]] session::lockable& on() const noexcept { return *on_; }
    // Not for a multi_lock.
    [[nodiscard]] session::client_lock& client_lock() const noexcept;

  private:
    friend class async_access;          // async.hpp
    friend class holdfast::multi_lock;  // uses its members

    static void check(const choices& chosen);

    std::shared_ptr<session::lockable> on_;
    choices chosen_;
};

}  // namespace detail

}  // namespace holdfast
