#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace holdfast::base {

namespace {

using std::chrono::milliseconds;

// Bytes of the well-formed UTF-8 sequence at the front of `s` (RFC 3629), 0 if there is none.
std::size_t utf8_length(std::string_view s) {
    const auto at = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U; };
    const auto follows = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
    const unsigned lead = at(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
        const bool overlong = lead == 0xe0 && at(1) < 0xa0;
        const bool surrogate = lead == 0xed && at(1) > 0x9f;
        return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        const bool overlong = lead == 0xf0 && at(1) < 0x90;
        const bool too_high = lead == 0xf4 && at(1) > 0x8f;
        return follows(1) && follows(2) && follows(3) && !overlong && !too_high ? 4 : 0;
    }
    return 0;
}

// `sequence` is one well-formed sequence.
char32_t code_point(std::string_view sequence) {
    const auto lead = static_cast<unsigned char>(sequence[0]);
    char32_t c = sequence.size() == 1 ? lead : lead & (0x7fU >> sequence.size());
    for (const char byte : sequence.substr(1)) c = c << 6U | (static_cast<unsigned char>(byte) & 0x3fU);
    return c;
}

struct range {
    char32_t first, last;
};
// Unicode 15: the general categories Cf, Zl and Zp, and what is reserved between them.
constexpr std::array invisible{
    range{0xad, 0xad},       range{0x600, 0x605},     range{0x61c, 0x61c},     range{0x6dd, 0x6dd},
    range{0x70f, 0x70f},     range{0x890, 0x891},     range{0x8e2, 0x8e2},     range{0x180e, 0x180e},
    range{0x200b, 0x200f},   range{0x2028, 0x202e},   range{0x2060, 0x206f},   range{0xfeff, 0xfeff},
    range{0xfff9, 0xfffb},   range{0x110bd, 0x110bd}, range{0x110cd, 0x110cd}, range{0x13430, 0x1343f},
    range{0x1bca0, 0x1bca3}, range{0x1d173, 0x1d17a}, range{0xe0000, 0xe007f}};

// U+0080 to U+009F are control characters too; terminals obey some of them.
bool is_shown(char32_t c) { return c >= 0x20 && (c < 0x7f || c > 0x9f) && !is_invisible(c); }

constexpr std::string_view digits = "0123456789abcdef";

enum class backslash { kept, doubled };

std::string escaped(std::string_view bytes, backslash how) {
    std::string out;
    out.reserve(bytes.size());
    while (!bytes.empty()) {
        const auto n = utf8_length(bytes);
        const auto sequence = bytes.substr(0, std::max<std::size_t>(n, 1));
        if (sequence == "\\" && how == backslash::doubled) {
            out += "\\\\";
        } else if (n > 0 && is_shown(code_point(sequence))) {
            out += sequence;
        } else {
            for (const char byte : sequence) {
                const auto value = static_cast<unsigned char>(byte);
                out += "\\x";
                out += digits[value >> 4U];
                out += digits[value & 15U];
            }
        }
        bytes.remove_prefix(sequence.size());
    }
    return out;
}

struct unit {
    std::string_view text;
    std::int64_t ms;
};
constexpr std::array units{unit{"d", 86'400'000}, unit{"h", 3'600'000}, unit{"m", 60'000}, unit{"s", 1'000},
                           unit{"ms", 1}};

}  // namespace

bool is_invisible(char32_t c) {
    return std::any_of(invisible.begin(), invisible.end(),
                       [c](const range& r) { return c >= r.first && c <= r.last; });
}

std::string printable(std::string_view bytes) { return escaped(bytes, backslash::doubled); }

std::string without_controls(std::string_view sentence) { return escaped(sentence, backslash::kept); }

std::string json_without_controls(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    const auto unit16 = [&](unsigned value) {
        out += "\\u";
        for (const int shift : {12, 8, 4, 0}) out += digits[value >> shift & 15U];
    };
    while (!json.empty()) {
        const auto n = std::max<std::size_t>(utf8_length(json), 1);
        const auto c = code_point(json.substr(0, n));
        if (!is_shown(c) && c != U'\n' && c < 0x10000) {
            unit16(c);
        } else if (!is_shown(c) && c != U'\n') {
            unit16(0xd800U + ((c - 0x10000U) >> 10U));
            unit16(0xdc00U + ((c - 0x10000U) & 0x3ffU));
        } else {
            out += json.substr(0, n);
        }
        json.remove_prefix(n);
    }
    return out;
}

std::optional<milliseconds> parse_duration(std::string_view text) {
    if (text == "0") return milliseconds{0};
    std::int64_t total = 0;
    std::size_t next_unit = 0;
    if (text.empty()) return std::nullopt;
    while (!text.empty()) {
        std::int64_t n = 0;
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
        if (ec != std::errc{} || n < 0 || text[0] == '-') return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        const auto letters = std::min(text.find_first_of("0123456789"), text.size());
        for (; next_unit < units.size() && units[next_unit].text != text.substr(0, letters);) ++next_unit;
        if (next_unit == units.size()) return std::nullopt;
        std::int64_t part = 0;
        if (__builtin_mul_overflow(n, units[next_unit].ms, &part) ||
            __builtin_add_overflow(total, part, &total)) {
            return std::nullopt;
        }
        text.remove_prefix(letters);
        ++next_unit;
    }
    return milliseconds{total};
}

std::string why_no_duration(std::string_view text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos)
        return "is not a duration such as 250ms, 2s or 1m30s";
    return "has no unit; a duration is written 250ms, 2s or 1m30s";
}

std::string to_text(milliseconds d) {
    auto left = d.count();
    if (left == 0) return "0s";
    std::string out;
    std::uint64_t magnitude =
        left < 0 ? 0 - static_cast<std::uint64_t>(left) : static_cast<std::uint64_t>(left);
    if (left < 0) out += '-';
    for (const auto& u : units) {
        const auto n = magnitude / static_cast<std::uint64_t>(u.ms);
        if (n == 0) continue;
        out += std::to_string(n);
        out += u.text;
        magnitude -= n * static_cast<std::uint64_t>(u.ms);
    }
    return out;
}

std::string to_hex(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
        const auto b = static_cast<unsigned char>(c);
        out += digits[b >> 4];
        out += digits[b & 15];
    }
    return out;
}

std::string to_base64url(std::string_view bytes) {
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string out;
    std::uint32_t pool = 0;
    int bits = 0;
    for (const char c : bytes) {
        pool = pool << 8 | static_cast<unsigned char>(c);
        for (bits += 8; bits >= 6; bits -= 6) out += alphabet[pool >> (bits - 6) & 63];
    }
    if (bits > 0) out += alphabet[pool << (6 - bits) & 63];
    return out;
}

std::string from_hex(std::string_view text) {
    std::string out;
    if (text.size() % 2 != 0) return out;
    for (; !text.empty(); text.remove_prefix(2)) {
        const auto of = [](char c) { return std::string_view{"0123456789abcdef"}.find(c); };
        const auto high = of(text[0]);
        const auto low = of(text[1]);
        if (high == std::string_view::npos || low == std::string_view::npos) return {};
        out += static_cast<char>(high << 4 | low);
    }
    return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain += text[i];
            continue;
        }
        std::string hex{text.substr(i + 1, 2)};
        for (auto& c : hex)
            if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
        const auto byte = hex.size() == 2 ? from_hex(hex) : std::string{};
        if (byte.empty()) return std::nullopt;
        plain += byte;
        i += 2;
    }
    return plain;
}

bool glob_match(std::string_view pattern, std::string_view text) {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;  // the last '*', to come back to
    std::size_t resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace holdfast::base
