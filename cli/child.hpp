// The command that runs under the locks: started, watched, signalled and reaped.
#pragma once

#include "cli/signals.hpp"

#include <sys/types.h>

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
};

struct start_failure {
    int error = 0;  // an errno
};

// It was stopped by this signal.
struct child_stopped {
    int signal = 0;
};
// It is dead, and stays a zombie until reap(): until then its process group cannot be anybody else's.
struct child_ended {
    int status = 0;  // exit status, if by_signal is 0
    int by_signal = 0;
    [[nodiscard]] int code() const noexcept { return by_signal != 0 ? 128 + by_signal : status; }
};
using child_change = std::variant<child_stopped, child_ended>;

class child {
  public:
    // Forks and waits until the command's program runs or has failed to. Call it on the main thread: the
    // command is killed when the thread that started it ends (and so when we are killed).
    [[nodiscard]] static std::variant<child, start_failure> start(const launch& what,
                                                                  const signal_inbox& signals);

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    // To the command and all that it started and that did not leave its process group.
    void signal(int signal) const noexcept;
    // What happened since the last call. Does not block; SIGCHLD says when to ask.
    [[nodiscard]] std::optional<child_change> next_change() const noexcept;
    void reap() const noexcept;

  private:
    explicit child(pid_t pid) noexcept : pid_(pid) {}

    pid_t pid_;
};

}  // namespace holdfast::cli
