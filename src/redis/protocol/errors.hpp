// What a server's error reply means for us.
#pragma once

#include <string_view>
#include <system_error>

namespace holdfast::redis {

// The word that classifies it: "WRONGTYPE" in "WRONGTYPE Operation against ...", and "OOM" in an older
// server's "ERR Error running script (call to f_12..): @user_script:1: -OOM command not allowed ...". Empty
// when there is none; then it is a plain "ERR".
[[nodiscard]] std::string_view error_word(std::string_view text) noexcept;

// The error code: errc::busy_server (the server cannot do it now; nothing was changed), out_of_memory,
// no_permission, wrong_kind, unknown_outcome (see is_torn), invalid_argument (see is_unknown_command: the
// server of this URL cannot serve the request), and bad_reply for all others.
[[nodiscard]] std::error_code classify(std::string_view error_text) noexcept;

// The server does not have the script; nothing was run.
[[nodiscard]] bool is_noscript(std::string_view error_text) noexcept;
// The server lacks the command, or one that the script has called: the server is too old, or is a proxy, or
// the command is disabled. A script may have been executed in part.
[[nodiscard]] bool is_unknown_command(std::string_view error_text) noexcept;
// In a cluster: the slot moves, and some of the keys are already on another server; nothing was run.
[[nodiscard]] bool is_tryagain(std::string_view error_text) noexcept;
// In a cluster: the script was aborted because its slot moves. What it had written stays written.
[[nodiscard]] bool is_torn(std::string_view error_text) noexcept;
// The server is a replica now: another one is the master.
[[nodiscard]] bool is_readonly(std::string_view error_text) noexcept;
// About the server, not the command: it is a replica, or does not have its data yet. Nothing was run.
[[nodiscard]] bool is_no_master(std::string_view error_text) noexcept;

}  // namespace holdfast::redis
