#include "cli/stage/page.hpp"

#include "cli/stage/environment.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace holdfast::cli::stage {

namespace {

constexpr std::size_t narrowest = 40;
constexpr std::size_t widest = 100;

bool speaks_unicode() {
    for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        if (const auto value = variable(name); !value.empty()) {
            return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos;
        }
    }
    return false;
}

std::size_t width_of(std::FILE* terminal) {
    winsize size{};
    if (::ioctl(::fileno(terminal), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return std::clamp<std::size_t>(size.ws_col, narrowest, widest);
}

}  // namespace

page::page(std::FILE* to, bool quiet)
    : to_(to),
      quiet_(quiet),
      terminal_(::isatty(::fileno(to)) == 1),
      colours_(terminal_ && variable("NO_COLOR").empty() && variable("TERM") != "dumb"),
      unicode_(speaks_unicode()),
      width_(terminal_ ? width_of(to) : 80) {}

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

std::string page::wrapped(const std::string& text, std::size_t indent) const {
    std::istringstream words{text};
    std::string out;
    std::size_t column = indent;
    for (std::string word; words >> word;) {
        if (column > indent && column + 1 + word.size() > width_ - 1) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
    return out;
}

}  // namespace holdfast::cli::stage
