// A place where one thread waits and any thread may end the wait. The thread waits on a futex while it has
// nothing to do, or in poll() while it runs I/O; `unpark` ends either.
#pragma once

#include "base/wake_fd.hpp"

#include <holdfast/types.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::base {

// Owned by the waiting thread; must outlive every possible `unpark` (session keeps it in shared state). Only
// the owner calls `park_until`, `poll_begin`, `poll_end` and `consume`; any thread may call `unpark`.
class parker {
  public:
    parker() = default;
    parker(const parker&) = delete;
    parker& operator=(const parker&) = delete;

    // Ends the present wait, or the next one if the owner does not wait now.
    void unpark() noexcept;

    // True if `unpark` was called since the last `consume`.
    [[nodiscard]] bool unparked() const noexcept { return state_.load(std::memory_order_acquire) == asked; }
    void consume() noexcept;

    // Blocks until unparked or until `until`. Waits run on CLOCK_MONOTONIC (a futex has no clock that counts
    // a suspend): after a suspend a wait may end late, never a lease.
    void park_until(boot_clock::time_point until) noexcept;

    // Call before poll(), which must also watch `wake`. The parker keeps `wake`: a thread inside `unpark` may
    // have seen the poll and write only when the polled connection is gone. False if `unpark` was called
    // already, or memory is short: do not poll.
    [[nodiscard]] bool poll_begin(const std::shared_ptr<const wake_fd>& wake) noexcept;
    void poll_end() noexcept;

  private:
    enum state : std::uint32_t {
        running,  // the owner works; unpark was not called
        parked,   // the owner sleeps on the futex
        polling,  // the owner is in poll() and watches wake_fd_
        asked,    // unpark was called and not consumed yet
    };

    std::atomic<std::uint32_t> state_{running};
    std::atomic<int> wake_fd_{-1};
    std::shared_ptr<const wake_fd> latest_;             // only the owner uses these two
    std::vector<std::shared_ptr<const wake_fd>> kept_;  // earlier ones: one for each connection
};

}  // namespace holdfast::base
