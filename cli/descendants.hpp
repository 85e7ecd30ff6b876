// All processes that descend from this one, read from /proc.
#pragma once

#include "cli/guard_link.hpp"
#include "cli/unique_fd.hpp"

#include <holdfast/types.hpp>

#include <sys/types.h>

#include <cstdint>

namespace holdfast::cli {

// Finds descendants wherever they went: to another process group, to another session, or away from a parent
// that ended, provided that this process is their subreaper (PR_SET_CHILD_SUBREAPER). Zombies do not count.
//
// After construction nothing allocates, so a machine without memory left does not keep commands from being
// ended. One object per process; not thread-safe.
class descendants {
  public:
    descendants();
    descendants(const descendants&) = delete;
    descendants& operator=(const descendants&) = delete;

    [[nodiscard]] sight seen() const noexcept { return seen_; }
    // From here on, only what begins later than `first` or together with it is looked for: `first` is a child
    // of this process, which may have had others before. False if it cannot be seen.
    bool begin_with(pid_t first) noexcept;

    // How many there are. Commands that start processes all the time are counted once, more or less.
    [[nodiscard]] int count() noexcept;

    struct reached {
        int signalled = 0;
        int refused = 0;  // another user's
    };
    // TERM, and CONT for those that are stopped, to each that is not in `group`. Where processes are started
    // faster than they are found, it gives up at `until`.
    void term(pid_t outside_of_group, boot_clock::time_point until) noexcept;
    // KILL to each, and reaps the dead that are children of this process, all but `unreaped`; none if that is
    // 0. A descendant that was started meanwhile may be missed: nothing is left when a call signals nobody.
    reached kill(pid_t unreaped) noexcept;

  private:
    // Calls `act(pidfd, pid, group)` for each live one that was not found since the last forget(). Looks at
    // each number once, and at none after `until`.
    template <class Act>
    int scan(boot_clock::time_point until, Act&& act) noexcept;
    void forget() noexcept;

    unique_fd proc_;
    sight seen_ = sight::none;
    pid_t first_ = 0;
    std::uint64_t since_ = 0;  // in the kernel's ticks
    pid_t unreaped_ = 0;
};

}  // namespace holdfast::cli
