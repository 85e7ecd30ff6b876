// The lines of the arbiter's registers: fields divided by tabs.
#pragma once

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::joint_backend {

inline constexpr std::size_t longest_word = 64;

// A text for people as one field, cut where it is too long.
[[nodiscard]] inline std::string field(const std::string& text, std::size_t longest = longest_word) {
    auto clean = base::without_controls(text);
    std::ranges::replace(clean, '\t', ' ');
    std::ranges::replace(clean, '\n', ' ');
    if (clean.size() > longest) {
        clean.resize(longest);
        while (!clean.empty() && (static_cast<unsigned char>(clean.back()) & 0xC0U) == 0x80U)
            clean.pop_back();
        if (!clean.empty() && static_cast<unsigned char>(clean.back()) >= 0xC0U) clean.pop_back();
    }
    return clean;
}

template <class Number>
[[nodiscard]] bool read(std::string_view text, Number& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc{} && end == text.data() + text.size();
}

// What stands before the first `at`, and that itself, are removed from `rest`.
[[nodiscard]] inline std::string_view cut(std::string_view& rest, char at) {
    const auto part = rest.substr(0, rest.find(at));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
}

// Levels as people count them: "1+2".
[[nodiscard]] inline std::string numbers(const std::vector<std::size_t>& of) {
    std::string text;
    for (const auto i : of) text += (text.empty() ? "" : "+") + std::to_string(i + 1);
    return text;
}

[[nodiscard]] inline bool read_numbers(std::string_view text, std::size_t levels,
                                       std::vector<std::size_t>& to) {
    to.clear();
    while (!text.empty()) {
        std::size_t number = 0;
        if (!read(cut(text, '+'), number) || number < 1 || number > levels) return false;
        to.push_back(number - 1);
    }
    return true;
}

}  // namespace holdfast::joint_backend
