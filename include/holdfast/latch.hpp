// A latch: wait until a count reaches zero.
#pragma once

#include <holdfast/leasable.hpp>

#include <chrono>
#include <cstdint>
#include <stop_token>

namespace holdfast {

// The same latch as Redisson's RCountDownLatch: one client sets a count, others count it down, and waiters go
// on when it is zero. A latch that was never set is at zero. It may be set again when it has reached zero.
//
// A latch is no lock: it has no owner and no time limit. All members block for a round trip, at most
// config::answer_timeout, wait() for longer; they throw holdfast::error. An operation that is repeated
// because its answer was lost counts once. A waiter also polls at least each config::poll_gap.
//
// A server that loses its data opens every latch, as with Redisson: without the key a latch is at zero. Give
// a latch a name of its own: a semaphore of the same name with no free permits looks like a latch at zero.
//
// Thread safety: all members may be called from any threads at once.
class HOLDFAST_API latch : private leasable {
  public:
    latch(client& on, lock_name name);

    // True: the count is now `count` (1 or more). False: it was not at zero, and is unchanged.
    bool try_set_count(std::int64_t count);
    // Decreases the count by `by` (1 or more), but not below zero. Returns what is left.
    std::int64_t count_down(std::int64_t by = 1);
    [[nodiscard]] std::int64_t count();
    // Sets the count to zero, which releases all waiters. False: it was at zero.
    bool erase();

    // Blocks until the count is zero. If `stop` requests a stop, it throws errc::cancelled.
    void wait(const std::stop_token& stop = {});
    // Returns false if the time ended first. Waits as the timed forms of leasable do.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& time,
                                const std::stop_token& stop = {}) {
        return wait_until_(after_(time), stop);
    }

    using leasable::name;

  private:
    friend class detail::async_access;

    bool wait_until_(time_point until, const std::stop_token& stop);
};

}  // namespace holdfast
