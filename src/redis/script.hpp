// Lua scripts by their SHA1, and how EVALSHA falls back to EVAL.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::redis {

// A script that is part of the program: both views live as long as it does.
struct script_ref {
    std::string_view text;
    std::string_view sha1;  // 40 lower-case hex digits of the text
};

// The same call as `evalsha` (one encoded EVALSHA command), but with the whole script: what is sent after
// the server said NOSCRIPT. EVAL also loads the script, so the next EVALSHA finds it.
[[nodiscard]] std::string as_eval(std::string_view evalsha, std::string_view script_text);

}  // namespace holdfast::redis
