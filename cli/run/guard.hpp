// The guard: a process between `holdfast run` and its command. It outlives `holdfast run`, and ends the
// command and all that it started when nobody holds the lock for the command.
//
// `holdfast run` may be killed, or stopped for longer than the lease. So it forks a process that becomes the
// subreaper of everything that the command starts, forks the command, and then executes this program anew as
// the guard: a small process without threads, which only a signal meant for it can disturb. It stays in the
// session of the command, since the kernel does not let a job be stopped and continued whose parent is in
// another session. It has a process group of its own, which a terminal's keys do not reach, and blocks every
// signal.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

// Descriptors of the guard. Its standard streams are /dev/null.
inline constexpr int guard_link_fd = 3;   // guard_order comes in, guard_report goes out
inline constexpr int guard_ready_fd = 4;  // a byte goes out when the command may begin

// The command line under which `ps` shows the guard, without the last word, which is the pid of the command.
[[nodiscard]] std::string guard_title(const std::string& lock_names);
// The pid of the command, if `words` (with the program's name) are the command line of a guard.
[[nodiscard]] std::optional<pid_t> command_to_guard(const std::vector<std::string>& words);

// Runs the guard. Returns its exit code when there is nothing left to do.
int guard(pid_t command);

}  // namespace holdfast::cli
