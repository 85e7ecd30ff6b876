// The exit codes of holdfast itself. A command that ran under a lock passes on its own code, or 128 + the
// signal that ended it.
#pragma once

namespace holdfast::cli::exit_code {

inline constexpr int ok = 0;
inline constexpr int conflict = 1;      // another client holds the lock, or nobody does (evict); run: see -E
inline constexpr int warnings = 1;      // doctor
inline constexpr int dangers = 2;       // doctor
inline constexpr int usage = 64;        // EX_USAGE: an invalid name, duration, option, setting or URL
inline constexpr int unavailable = 69;  // EX_UNAVAILABLE: the store: no answer, no right, no memory
inline constexpr int internal = 70;     // EX_SOFTWARE: a bug in holdfast
// EX_OSERR: this machine has no descriptor, thread, process or memory left.
inline constexpr int system = 71;
inline constexpr int output = 74;  // EX_IOERR: the output cannot be written to stdout
// EX_TEMPFAIL: the lock was lost, before or while the command ran, or --max-hold was over.
inline constexpr int lost = 75;
inline constexpr int cannot_execute = 126;
inline constexpr int not_found = 127;

[[nodiscard]] constexpr int by_signal(int signal) noexcept { return 128 + signal; }

}  // namespace holdfast::cli::exit_code
