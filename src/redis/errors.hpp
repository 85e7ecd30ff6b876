// What a server's error reply means for us.
#pragma once

#include <string_view>
#include <system_error>

namespace holdfast::redis {

// The word that decides: "WRONGTYPE" of "WRONGTYPE Operation against ...", and "OOM" of an older server's
// "ERR Error running script (call to f_12..): @user_script:1: -OOM command not allowed ...".
// Empty when there is none; then it is a plain "ERR".
[[nodiscard]] std::string_view error_word(std::string_view text) noexcept;

// By group: errc::busy_server (the server answers, but not now; nothing was changed), out_of_memory,
// no_permission, wrong_kind, unknown_outcome (see is_torn), invalid_argument (see is_unknown_command: the URL
// is that of a server that cannot serve this), and bad_reply for all others.
[[nodiscard]] std::error_code classify(std::string_view error_text) noexcept;

// The server lacks the script; nothing was run.
[[nodiscard]] bool is_noscript(std::string_view error_text) noexcept;
// What was asked, or a script has called, is not to be had on a server of this sort: it is too old, or a
// proxy, or somebody has taken the command away. A script may have been carried out in part.
[[nodiscard]] bool is_unknown_command(std::string_view error_text) noexcept;
// In a cluster: some of the keys are on another server already, as their slot moves; nothing was run.
[[nodiscard]] bool is_tryagain(std::string_view error_text) noexcept;
// In a cluster: the script was ended in its midst, as the slot moves. What it had written stays written.
[[nodiscard]] bool is_torn(std::string_view error_text) noexcept;
// The server is a replica now: another one is the master.
[[nodiscard]] bool is_readonly(std::string_view error_text) noexcept;
// Whatever is asked of this server now: it is a replica, or it does not have its data yet. Nothing was run.
[[nodiscard]] bool is_no_master(std::string_view error_text) noexcept;

}  // namespace holdfast::redis
