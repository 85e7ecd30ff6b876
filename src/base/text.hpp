// Text for and from people: bytes made printable, durations read and written.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::base {

// Makes foreign bytes safe for a terminal, a log or a reader. Control characters, characters that are
// invisible or reverse the order of others (see is_invisible), backslashes and bytes that are not UTF-8
// become \xNN (or \\). Different bytes give different texts.
[[nodiscard]] std::string printable(std::string_view bytes);
// The same for a sentence that may already contain printable() text: backslashes stay. For the last step
// before a sentence is shown; a second call changes nothing.
[[nodiscard]] std::string without_controls(std::string_view sentence);
// The same for JSON text: such characters inside its strings become \uNNNN, which means the same to a
// program.
[[nodiscard]] std::string json_without_controls(std::string_view json);
// Line and paragraph separators and the format characters of Unicode: zero-width and soft hyphens, joiners,
// marks and overrides of direction, tags. A name that contains one can look like another name.
[[nodiscard]] bool is_invisible(char32_t c);

// Two lower-case digits a byte, and back; empty if `text` is not that.
[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::string from_hex(std::string_view text);
// %XX becomes the byte XX, as in URLs. Empty if a '%' is not followed by two hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);
// A-Z a-z 0-9 - _, without padding: 22 characters for 16 bytes.
[[nodiscard]] std::string to_base64url(std::string_view bytes);

// "250ms", "2s", "1m30s", "1h"; units ms, s, m, h, d, the largest first. Empty if it is not a duration or
// does not fit. A bare "0" is a duration, a bare "5" is not.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
// Why parse_duration() refuses the text: the end of a sentence that begins with the text. Does not show it,
// since it may be a secret in the wrong place.
[[nodiscard]] std::string why_no_duration(std::string_view text);
[[nodiscard]] std::string to_text(std::chrono::milliseconds d);

// '*' stands for any bytes, '?' for one. No other byte is special.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace holdfast::base
