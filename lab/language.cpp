#include "lab/language.hpp"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::lab {

namespace {

constexpr std::string_view placeholder = "{}";

// A pattern, cut at its placeholders.
std::vector<std::string_view> pieces_of(std::string_view pattern) {
    std::vector<std::string_view> pieces;
    for (auto at = pattern.find(placeholder); at != pattern.npos; at = pattern.find(placeholder)) {
        pieces.push_back(pattern.substr(0, at));
        pattern.remove_prefix(at + placeholder.size());
    }
    pieces.push_back(pattern);
    return pieces;
}

// The parts of the text at the placeholders; empty: the text does not match.
std::optional<std::vector<std::string_view>> matched(std::string_view text, std::string_view pattern) {
    const auto pieces = pieces_of(pattern);
    if (pieces.size() == 1)
        return text == pattern ? std::optional<std::vector<std::string_view>>{std::in_place} : std::nullopt;
    if (!text.starts_with(pieces.front())) return {};
    text.remove_prefix(pieces.front().size());
    std::vector<std::string_view> found;
    for (auto piece = std::next(pieces.begin()); piece != pieces.end(); ++piece) {
        // The last piece ends the text; each other piece matches where it first occurs.
        const bool last = std::next(piece) == pieces.end();
        if (last && !text.ends_with(*piece)) return {};
        const auto end = last ? text.size() - piece->size() : text.find(*piece);
        if (end == text.npos) return {};
        found.push_back(text.substr(0, end));
        text.remove_prefix(end + piece->size());
    }
    return found;
}

std::string filled(std::string_view pattern, const std::vector<std::string_view>& with) {
    std::string out;
    auto next = with.begin();
    for (const auto piece : pieces_of(pattern)) {
        out += piece;
        if (next != with.end()) out += *next++;
    }
    return out;
}

std::optional<std::string> translated(language to, std::string_view english) {
    if (to == language::english) return std::string{english};
    for (const auto& one : translations_zh()) {
        if (const auto parts = matched(english, one.english)) return filled(one.other, *parts);
    }
    return {};
}

}  // namespace

std::string in(language to, std::string_view english) {
    return translated(to, english).value_or(std::string{english});
}

bool is_translated(language to, std::string_view english) { return translated(to, english).has_value(); }

}  // namespace holdfast::lab
