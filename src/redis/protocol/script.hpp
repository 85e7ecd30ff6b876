// Lua scripts by SHA1, and the fallback from EVALSHA to EVAL.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::redis {

// A script that is part of the program, so both views are always valid.
struct script_ref {
    std::string_view text;
    std::string_view sha1;  // 40 lower-case hex digits of the text
};

// Turns `evalsha` (one encoded EVALSHA command) into an EVAL with the whole script, to send after a NOSCRIPT.
// EVAL also loads the script, so the next EVALSHA finds it.
[[nodiscard]] std::string as_eval(std::string_view evalsha, std::string_view script_text);

}  // namespace holdfast::redis
