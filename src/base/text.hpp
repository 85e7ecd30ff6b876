// Text for and from people: bytes made printable, durations read and written.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::base {

// Control characters, backslashes and bytes that are not UTF-8 become \xNN (or \\): safe for a terminal or a
// log.
[[nodiscard]] std::string printable(std::string_view bytes);

// Two lower-case digits a byte, and back; empty if it is not that.
[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::string from_hex(std::string_view text);
// A-Z a-z 0-9 - _, without padding: 22 characters for 16 bytes.
[[nodiscard]] std::string to_base64url(std::string_view bytes);

// "250ms", "2s", "1m30s", "1h"; units ms, s, m, h, d, the largest first. Empty if it is not a duration
// or does not fit. A bare "0" is a duration, a bare "5" is not.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string to_text(std::chrono::milliseconds d);

// '*' stands for any bytes, '?' for one. No other byte is special.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace holdfast::base
