#include "cli/output/page.hpp"

#include "cli/output/wrap.hpp"
#include "cli/process/environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

constexpr std::size_t widest = 100;

bool speaks_unicode() {
    for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        if (const auto value = environment_variable(name); !value.empty()) {
            return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos;
        }
    }
    return false;
}

}  // namespace

page::page(std::FILE* to, bool quiet)
    : to_(to),
      quiet_(quiet),
      terminal_(::isatty(::fileno(to)) == 1),
      colours_(terminal_ && environment_variable("NO_COLOR").empty() &&
               environment_variable("TERM") != "dumb"),
      unicode_(speaks_unicode()),
      width_(std::min(terminal_width(::fileno(to)), widest)) {}

void page::put(const std::string& text) const {
    if (quiet_) return;
    fmt::print(to_, "{}", text);
    std::fflush(to_);
}

std::string page::painted(const std::string& text, colour in) const {
    if (!colours_) return text;
    switch (in) {
        case colour::none: return text;
        case colour::good: return "\x1b[32m" + text + "\x1b[0m";
        case colour::bad: return "\x1b[31m" + text + "\x1b[0m";
        case colour::faint: return "\x1b[2m" + text + "\x1b[0m";
        case colour::strong: return "\x1b[1m" + text + "\x1b[0m";
    }
    return text;
}

namespace {

// An unbreakable piece of text: a word, or a Chinese character with the punctuation that follows it.
struct piece {
    std::string text;
    std::size_t columns = 0;
    bool after_space = false;
};

// Chinese, Japanese and Korean take two columns and are written without spaces.
bool is_wide(char32_t c) { return c >= 0x2e80 && c <= 0xffe6; }
bool ends_something(char32_t c) {
    return (c >= 0x3001 && c <= 0x3002) || c == 0xff0c || c == 0xff1a || c == 0xff1b || c == 0xff09 ||
           c == 0x300d || c == 0x300b;
}

// The first character and its length in bytes. A byte that is not UTF-8 counts as a character.
std::pair<char32_t, std::size_t> character(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (size == 1 || text.size() < size) return {first, 1};
    char32_t code = first & (0xffU >> (size + 1));
    for (const char next : text.substr(1, size - 1))
        code = (code << 6U) | (static_cast<unsigned char>(next) & 0x3fU);
    return {code, size};
}

std::vector<piece> pieces_of(std::string_view text) {
    std::vector<piece> all;
    bool space = false;
    bool joins = false;  // the next character belongs to the last piece
    while (!text.empty()) {
        const auto [code, size] = character(text);
        const auto bytes = text.substr(0, size);
        text.remove_prefix(size);
        if (code == ' ' || code == '\n' || code == '\t' || code == '\r') {
            space = true;
            joins = false;
            continue;
        }
        const bool wide = is_wide(code);
        if (all.empty() || space || (wide ? !ends_something(code) : !joins)) all.push_back({{}, 0, space});
        all.back().text += bytes;
        all.back().columns += wide ? 2 : 1;
        joins = !wide;
        space = false;
    }
    return all;
}

}  // namespace

std::string page::padded(const std::string& text, std::size_t columns) {
    std::size_t taken = 0;
    for (std::string_view rest{text}; !rest.empty();) {
        const auto [code, size] = character(rest);
        taken += is_wide(code) ? 2 : 1;
        rest.remove_prefix(size);
    }
    return text + std::string(columns > taken ? columns - taken : 0, ' ');
}

std::string page::wrapped(const std::string& text, std::size_t indent) const {
    std::string out;
    std::size_t column = indent;
    for (const auto& one : pieces_of(text)) {
        const std::size_t gap = one.after_space ? 1 : 0;
        if (column > indent && column + gap + one.columns > width_ - 1) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent && gap > 0) {
            out += ' ';
            ++column;
        }
        out += one.text;
        column += one.columns;
    }
    return out;
}

}  // namespace holdfast::cli
