// All processes that descend from this one, read from /proc.
#pragma once

#include "cli/guard_link.hpp"
#include "cli/unique_fd.hpp"

#include <holdfast/types.hpp>

#include <sys/types.h>

#include <array>
#include <cstdint>

namespace holdfast::cli {

// Kept for when no other descriptor is to be had.
class spare_descriptors {
  public:
    void fill() noexcept;
    // True if there is one more to be had now.
    bool give_one() noexcept;

  private:
    std::array<unique_fd, 2> kept_;  // as many as a look at a process needs at once
};

// Finds descendants wherever they went: to another process group, to another session, or away from a parent
// that ended, provided that this process is their subreaper (PR_SET_CHILD_SUBREAPER). Zombies do not count.
//
// After construction nothing allocates, so a machine without memory left does not keep commands from being
// ended. One object per process; not thread-safe.
class descendants {
  public:
    // Throws std::system_error where /proc cannot be opened for want of descriptors or memory.
    descendants();
    descendants(const descendants&) = delete;
    descendants& operator=(const descendants&) = delete;

    [[nodiscard]] sight seen() const noexcept { return seen_; }
    // From here on, only what begins later than `first` or together with it is looked for, and only in
    // process groups that did: `first` is a child of this process, which may have had others before, and what
    // those have started and left is adopted as well. False if it cannot be seen.
    bool begin_with(pid_t first) noexcept;

    // True for a zombie that is seen as one. Any process of this user may be asked about.
    [[nodiscard]] bool has_ended(pid_t process) noexcept;

    // How many there are. Commands that start processes all the time are counted once, more or less.
    [[nodiscard]] int count() noexcept;

    struct reached {
        int signalled = 0;
        int refused = 0;        // another user's
        bool complete = true;   // false: for want of descriptors or memory some could not be looked at
        std::uint64_t who = 0;  // the same for the same processes, and hardly ever for others
    };
    // TERM, and CONT for those that are stopped, to each that is not in `group`. Where processes are started
    // faster than they are found, it gives up at `until`.
    void term(pid_t outside_of_group, boot_clock::time_point until) noexcept;
    // KILL to each, and reaps the dead that are children of this process, all but `unreaped`; none if that is
    // 0. A descendant that was started meanwhile may be missed: see sweeps.hpp.
    reached kill(pid_t unreaped) noexcept;
    // Reaps as kill() does, and signals nobody.
    void reap(pid_t unreaped) noexcept;
    // False: no child of this process is alive, and so no descendant if it is their subreaper. Believe it
    // rather than a sweep: the kernel looks at all of them at once, and needs neither /proc nor a descriptor.
    [[nodiscard]] static bool any_is_alive() noexcept;

  private:
    struct scanned {
        int found = 0;
        bool complete = true;
    };
    // Calls `act(pidfd, pid, process)` for each live one that was not found since the last forget(). Looks at
    // each number once, and at none after `until`.
    template <class Act>
    scanned scan(boot_clock::time_point until, Act&& act) noexcept;
    void forget() noexcept;
    // Than begin_with() allows.
    [[nodiscard]] bool is_older_group(pid_t group) noexcept;

    unique_fd proc_;
    spare_descriptors spare_;
    sight seen_ = sight::none;
    pid_t first_ = 0;
    std::uint64_t since_ = 0;  // in the kernel's ticks
    pid_t unreaped_ = 0;
};

}  // namespace holdfast::cli
