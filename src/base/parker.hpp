// One thread waits here; any thread may end the wait. The wait is a futex while the thread has
// nothing to do, or a poll() while it drives a connection, and `unpark` ends either.
#pragma once

#include "base/wake_fd.hpp"

#include <holdfast/types.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::base {

// Owned by the waiting thread; must outlive every possible `unpark` (session keeps it in shared state).
// `park_until`, `poll_begin`, `poll_end` and `consume` are for the owner; `unpark` is for all.
class parker {
  public:
    parker() = default;
    parker(const parker&) = delete;
    parker& operator=(const parker&) = delete;

    // Ends the present wait, or the next one if nobody waits now.
    void unpark() noexcept;

    // Somebody asked for an end of the wait since the last `consume`.
    [[nodiscard]] bool unparked() const noexcept { return state_.load(std::memory_order_acquire) == asked; }
    void consume() noexcept;

    // Blocks until unparked or until `until`. Deadlines of waits run on CLOCK_MONOTONIC (futex knows no
    // other that counts on): after a suspend a wait may end late, never a lease.
    void park_until(boot_clock::time_point until) noexcept;

    // The owner is about to sit in poll(), which also watches `wake`. The parker keeps it: a thread inside
    // `unpark` may have seen the poll and write only when the connection that was polled is gone. False if
    // somebody already asked, or there is no memory: do not poll.
    [[nodiscard]] bool poll_begin(const std::shared_ptr<const wake_fd>& wake) noexcept;
    void poll_end() noexcept;

  private:
    enum state : std::uint32_t {
        running,  // the owner works; nobody asked
        parked,   // the owner sleeps on the futex
        polling,  // the owner sits in poll() and watches wake_fd_
        asked,    // unpark was called and not consumed yet
    };

    std::atomic<std::uint32_t> state_{running};
    std::atomic<int> wake_fd_{-1};
    std::shared_ptr<const wake_fd> latest_;             // only the owner looks at these two
    std::vector<std::shared_ptr<const wake_fd>> kept_;  // before the latest: one for each connection
};

}  // namespace holdfast::base
