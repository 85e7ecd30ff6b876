// What the command's exit code says. A command that ran under a lock gives its own code, or 128 + the
// signal that ended it; these are holdfast's.
#pragma once

namespace holdfast::cli::exit_code {

inline constexpr int ok = 0;
inline constexpr int conflict = 1;  // somebody else has it, or nobody had it (evict); run: see -E
inline constexpr int warnings = 1;  // doctor
inline constexpr int dangers = 2;   // doctor
inline constexpr int usage = 64;    // EX_USAGE: a name, duration, option, setting or URL that cannot be used
inline constexpr int unavailable = 69;  // EX_UNAVAILABLE: no answer, no right, no memory
inline constexpr int internal = 70;     // EX_SOFTWARE: a bug in holdfast
// EX_OSERR: this machine gives no descriptor, thread, process or memory.
inline constexpr int system = 71;
inline constexpr int output = 74;  // EX_IOERR: what was asked for cannot be written to stdout
// EX_TEMPFAIL: the lock was lost, or its time was up, while the command ran, or it was lost before that.
inline constexpr int lost = 75;
inline constexpr int cannot_execute = 126;
inline constexpr int not_found = 127;

[[nodiscard]] constexpr int by_signal(int signal) noexcept { return 128 + signal; }

}  // namespace holdfast::cli::exit_code
