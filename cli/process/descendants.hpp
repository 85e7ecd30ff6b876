// Finds all processes that descend from this one, in /proc.
#pragma once

#include "cli/process/unique_fd.hpp"

#include <holdfast/types.hpp>

#include <sys/types.h>

#include <array>
#include <cstdint>

namespace holdfast::cli {

// How many of its descendants this process can see.
enum class sight : int {
    whole,
    own,   // /proc hides processes of other users (hidepid)
    none,  // /proc is not mounted, or is of another pid namespace: only a child and its group are known
};

// Descriptors that are kept for the time when the process has no others left.
class spare_descriptors {
  public:
    void fill() noexcept;
    // Frees one descriptor. False if none is kept.
    bool give_one() noexcept;

  private:
    std::array<unique_fd, 2> kept_;  // a look at a process needs two at once
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
    // From now on, finds only processes that started no earlier than `first`, and only in process groups that
    // did so, too. `first` is a child of this process. This process may have had other children before, and
    // adopts the processes that those left behind. False if `first` cannot be seen.
    bool begin_with(pid_t first) noexcept;

    // True if `process` is visible and a zombie. It may be any process of this user.
    [[nodiscard]] bool has_ended(pid_t process) noexcept;

    // How many descendants there are; an estimate, if processes start all the time.
    [[nodiscard]] int count() noexcept;

    struct reached {
        int signalled = 0;
        int refused = 0;        // processes of other users
        int reaped = 0;         // children of this process that had ended since the last call
        bool complete = true;   // false: for want of descriptors or memory, some could not be looked at
        std::uint64_t who = 0;  // a hash: equal for the same processes, and almost never for others
    };
    // Sends TERM, and CONT for those that are stopped, to each descendant outside the group. Gives up at
    // `until`, in case processes start faster than they are found.
    void term(pid_t outside_of_group, boot_clock::time_point until) noexcept;
    // Sends KILL to each descendant, gives those that are our children the processor first, if this user may,
    // and reaps the dead children of this process, except `unreaped`; reaps none if that is 0. May miss a
    // descendant that starts meanwhile, so call it until nothing is left.
    reached kill(pid_t unreaped) noexcept;
    // Reaps as kill() does, without sending a signal.
    void reap(pid_t unreaped, pid_t another = 0) noexcept;
    // False if no child of this process is alive, and so no descendant if this process is their subreaper.
    // More reliable than a sweep: the kernel looks at all of them at once, without /proc or a descriptor.
    [[nodiscard]] static bool any_is_alive() noexcept;

  private:
    struct scanned {
        int found = 0;
        int reaped = 0;
        bool complete = true;
    };
    // Calls `act(pidfd, pid, process)` for each live descendant that was not found since the last forget().
    // Looks at each pid once, and at none after `until`.
    template <class Act>
    scanned scan(boot_clock::time_point until, Act&& act) noexcept;
    void forget() noexcept;
    // Whether the group is older than begin_with() allows.
    [[nodiscard]] bool is_older_group(pid_t group) noexcept;

    unique_fd proc_;
    spare_descriptors spare_;
    sight seen_ = sight::none;
    pid_t first_ = 0;
    std::uint64_t since_ = 0;          // in the kernel's ticks
    std::array<pid_t, 2> unreaped_{};  // reaps none if the first is 0
};

}  // namespace holdfast::cli
