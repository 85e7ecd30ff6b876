// Starts, watches, signals and reaps the command that runs under the locks, and the guard between it and this
// process (see guard.hpp).
#pragma once

#include "cli/process/descendants.hpp"
#include "cli/process/signals.hpp"
#include "cli/process/unique_fd.hpp"
#include "cli/process/wake_fds.hpp"
#include "cli/run/guard_link.hpp"
#include "cli/run/sweeps.hpp"

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::cli {

struct launch {
    std::vector<std::string> words;                              // the command and its arguments
    std::vector<std::pair<std::string, std::string>> variables;  // added to the environment
    std::vector<std::string> removed;                            // variables that the command must not see
    int kept_open = -1;  // the only descriptor of ours that the command inherits
    int terminal = -1;   // the terminal that its process group takes over; -1: it starts in the background
    std::string guard_title;  // how `ps` shows the guard
    guard_order first_order;  // known to the guard before the command begins
};

struct start_failure {
    enum class part : int { command, guard };
    part which = part::command;
    int error = 0;  // an errno; 0: the guard did not become ready
};

// The command was stopped by this signal.
struct child_stopped {
    int signal = 0;
};
// The command has ended. It stays a zombie until leave(), so that its process group cannot become another's.
struct child_ended {
    int status = 0;  // exit status, if by_signal is 0
    int by_signal = 0;
    boot_clock::time_point at{};  // when the guard saw it
    [[nodiscard]] int code() const noexcept { return by_signal != 0 ? 128 + by_signal : status; }
};
// The guard has begun to end the command, because it got no later deadline in time.
struct guard_began {};
// The guard has received the order to kill.
struct guard_kills {};
// For about a second, KILL has found the same processes again and again. We wait for their end.
struct cannot_end {
    int refused = 0;  // of other users
    int killed = 0;   // which the kernel has not ended yet
};
// The guard has done all that was ordered, or that it began: no process of the command is alive, except those
// of other users.
struct nothing_left {
    int refused = 0;
    sight seen = sight::whole;
};
// Somebody has killed the guard, and the kernel then kills the command. This process takes over the guard's
// work: see end_without_guard().
struct guard_died {};
using child_change =
    std::variant<child_stopped, child_ended, guard_began, guard_kills, cannot_end, nothing_left, guard_died>;

class child {
  public:
    // Forks the guard and the command, and blocks until the command's program runs or has failed to start.
    // The command never runs without a guard that is ready.
    [[nodiscard]] static std::variant<child, start_failure> start(const launch& what,
                                                                  const signal_inbox& signals);

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    // Readable when next_change() is to be called.
    [[nodiscard]] int fd() const noexcept {
        return without_guard_ ? for_guard_->look_again.fd() : link_.get();
    }
    // Sends a signal to the command and all other processes of its group.
    void signal(int signal) const noexcept;
    // Sends an order to the guard. Does not block. False if the order is not sent, because the guard does not
    // run.
    bool order(const guard_order& what) const noexcept;
    // The next change since the last call. Does not block.
    [[nodiscard]] std::optional<child_change> next_change() noexcept;
    // Continues a guard that was stopped, and reaps children other than the guard and the command. Call it
    // after SIGCHLD.
    void tend() noexcept;
    // Kills a guard that has not reported the command's end for some seconds, because it does not run.
    // Returns when to call this again; empty if there is no such time.
    std::optional<boot_clock::time_point> replace_late_guard(boot_clock::time_point now) noexcept;
    // Kills the guard: guard_died follows.
    void replace_guard() noexcept;
    // After guard_died: makes next_change() kill the command and all that it started. child_ended, unless it
    // was reported before, and nothing_left follow.
    void end_without_guard() noexcept;
    // Ends the guard, which reaps the command. Returns how many processes that the command started are still
    // alive. Call it once, as the last call.
    int leave() noexcept;

  private:
    // What this process needs to do the guard's work. It is made early, while there are memory and
    // descriptors.
    struct stand_in {
        descendants found;
        sweeps killed;
        wake_timer look_again;
    };

    child(pid_t pid, pid_t guard, unique_fd link, std::unique_ptr<stand_in> for_guard) noexcept
        : pid_(pid), guard_(guard), link_(std::move(link)), for_guard_(std::move(for_guard)) {}

    [[nodiscard]] std::optional<child_change> kill_without_guard() noexcept;
    [[nodiscard]] bool guard_is_dead() const noexcept;

    pid_t pid_;
    pid_t guard_;
    unique_fd link_;
    std::unique_ptr<stand_in> for_guard_;
    bool without_guard_ = false;
    std::optional<boot_clock::time_point> zombie_since_;  // the command; the guard has not reported its end
    bool kills_ = false;
    bool reported_cannot_end_ = false;
    bool ended_ = false;  // child_ended was reported
};

}  // namespace holdfast::cli
