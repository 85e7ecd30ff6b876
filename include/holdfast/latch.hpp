// Waiting until a number of things have happened.
#pragma once

#include <holdfast/leasable.hpp>

#include <chrono>
#include <cstdint>
#include <stop_token>

namespace holdfast {

// The same latch as Redisson's RCountDownLatch: somebody sets a count, others count it down, and who waits
// goes on when it is zero. A latch that nobody has set is at zero. It may be set again when it has come to
// zero.
//
// Not a lock: nobody owns it, and it has no time limit. All members block for a round trip, at most
// config::answer_timeout, wait() for longer; they throw holdfast::error. What is repeated because its answer
// was lost counts once. A waiter also asks at least each config::poll_gap.
//
// A server that loses its data opens every latch, as with Redisson: without the key it is at zero. Give it a
// name of its own: a semaphore of that name with no permits free cannot be told from a latch at zero.
//
// Thread safety: all members may be called from any threads at once.
class HOLDFAST_API latch : private detail::leasable {
  public:
    latch(client& on, lock_name name);

    // True: the count is `count` now (1 or more). False: it is not yet at zero, and stays.
    bool try_set_count(std::int64_t count);
    // Counts `by` down (1 or more), to zero at the lowest. Returns what is left.
    std::int64_t count_down(std::int64_t by = 1);
    [[nodiscard]] std::int64_t count();
    // Sets it to zero, and who waits goes on. False: it was at zero.
    bool erase();

    // Until the count is zero. With a stop token: until that asks to stop, then errc::cancelled is thrown.
    void wait(const std::stop_token& stop = {});
    // False: the time was over before. Waits as the timed forms of detail::leasable do.
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
