// The command that runs under the locks, and the guard in between (see guard.hpp): started, watched,
// signalled and reaped.
#pragma once

#include "cli/descendants.hpp"
#include "cli/guard_link.hpp"
#include "cli/signals.hpp"
#include "cli/sweeps.hpp"
#include "cli/unique_fd.hpp"
#include "cli/waking.hpp"

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
    int kept_open = -1;  // the only descriptor of ours that the command gets
    int terminal = -1;   // the terminal that its process group takes over; -1: it starts in the background
    std::string guard_title;  // how `ps` shows the guard
    guard_order first_order;  // known to the guard before the command begins
};

struct start_failure {
    enum class part : int { command, guard };
    part which = part::command;
    int error = 0;  // an errno; 0: the guard did not become ready
};

// It was stopped by this signal.
struct child_stopped {
    int signal = 0;
};
// It is dead, and stays a zombie until leave(): until then its process group cannot be anybody else's.
struct child_ended {
    int status = 0;  // exit status, if by_signal is 0
    int by_signal = 0;
    boot_clock::time_point at{};  // when the guard saw it
    [[nodiscard]] int code() const noexcept { return by_signal != 0 ? 128 + by_signal : status; }
};
// The guard has begun to end it, because no order with a later deadline had come.
struct guard_began {};
// The guard has got the order to kill.
struct guard_kills {};
// For about a second, KILL has met the same processes again and again. The end is waited for.
struct cannot_end {
    int refused = 0;  // of other users
    int killed = 0;   // which the kernel has not ended yet
};
// All that was ordered, or begun by the guard, is done: nothing of the command lives, except processes of
// other users.
struct nothing_left {
    int refused = 0;
    sight seen = sight::whole;
};
// Somebody has killed the guard, and the kernel kills the command then. What the guard looked after falls to
// this process: see end_without_guard().
struct guard_died {};
using child_change =
    std::variant<child_stopped, child_ended, guard_began, guard_kills, cannot_end, nothing_left, guard_died>;

class child {
  public:
    // Forks the guard and the command, and waits until the command's program runs or has failed to. It never
    // runs without a guard that is ready.
    [[nodiscard]] static std::variant<child, start_failure> start(const launch& what,
                                                                  const signal_inbox& signals);

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    // Readable when next_change() has something new, or wants to look again.
    [[nodiscard]] int fd() const noexcept {
        return without_guard_ ? for_guard_->look_again.fd() : link_.get();
    }
    // To the command and all that it started and that did not leave its process group.
    void signal(int signal) const noexcept;
    // To the guard. Does not block; false if it has not taken the order, because it stands still.
    bool order(const guard_order& what) const noexcept;
    // What happened since the last call. Does not block.
    [[nodiscard]] std::optional<child_change> next_change() noexcept;
    // Continues a guard that was stopped, and reaps what is neither the guard nor the command. Call it when
    // CHLD has come.
    void tend() noexcept;
    // Kills a guard that has not told of the command's end for some seconds, because it stands still. Returns
    // when to ask again; empty: when there is a reason to.
    std::optional<boot_clock::time_point> replace_late_guard(boot_clock::time_point now) noexcept;
    // Kills it: guard_died follows.
    void replace_guard() noexcept;
    // After guard_died: kills the command and all that it started, while next_change() is called.
    // child_ended, if that was not told before, and nothing_left follow.
    void end_without_guard() noexcept;
    // Once, and the last call: ends the guard, which reaps the command. Returns how many processes that the
    // command started live on.
    int leave() noexcept;

  private:
    // What this process needs to do the guard's work, made while there is memory and there are descriptors.
    struct stand_in {
        descendants found;
        sweeps killed;
        alarm_clock look_again;
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
    std::optional<boot_clock::time_point> zombie_since_;  // the command, of which the guard has told nothing
    bool kills_ = false;
    bool told_that_it_cannot_ = false;
    bool ended_ = false;  // child_ended was told
};

}  // namespace holdfast::cli
