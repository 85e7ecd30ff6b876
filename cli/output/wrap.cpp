#include "cli/output/wrap.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <vector>

namespace holdfast::cli {

namespace {

constexpr std::size_t usual_width = 80;
constexpr std::size_t narrowest = 40;
// A column narrower than this is hard to read: its text goes to the next line, indented by `below`.
constexpr std::size_t narrowest_column = 24;
constexpr std::size_t below = 6;

// The first piece that is not broken: a word or, if that is too long, as much of a list with commas as there
// is room for.
std::string_view first_piece(std::string_view text, std::size_t room) {
    const auto word = text.substr(0, text.find(' '));
    if (word.size() <= room) return word;
    const auto comma = word.substr(0, room).rfind(',');
    return comma == std::string_view::npos ? word : word.substr(0, comma + 1);
}

// `first` comes before the text on its first line; all other lines begin with `indent` spaces.
void fill(std::string& out, std::string first, std::string_view text, std::size_t indent, std::size_t width) {
    std::string line = std::move(first);
    bool empty = true;
    while (!text.empty()) {
        const auto word = first_piece(text, width - std::min(width, indent));
        text.remove_prefix(word.size());
        if (text.starts_with(' ')) text.remove_prefix(1);
        if (!empty && line.size() + 1 + word.size() > width) {
            out += line + '\n';
            line.assign(indent, ' ');
            empty = true;
        }
        if (!empty) line += ' ';
        line += word;
        empty = false;
    }
    out += line + '\n';
}

struct column {
    std::size_t at;
    std::string_view text;
};

// Columns are separated by two or more spaces.
std::vector<column> columns_of(std::string_view line) {
    std::vector<column> found;
    for (std::size_t at = line.find_first_not_of(' '); at != std::string_view::npos;) {
        const auto end = std::min(line.find("  ", at), line.size());
        found.push_back({at, line.substr(at, end - at)});
        at = line.find_first_not_of(' ', end);
    }
    return found;
}

void put_pair(std::string& out, const column& head, const column& meaning, std::size_t width) {
    std::string first(head.at, ' ');
    first += head.text;
    if (meaning.at + narrowest_column <= width) {
        first.append(meaning.at - std::min(meaning.at, first.size()), ' ');
        return fill(out, std::move(first), meaning.text, meaning.at, width);
    }
    fill(out, std::string(head.at, ' '), head.text, head.at + below, width);
    fill(out, std::string(below, ' '), meaning.text, below, width);
}

void put_indented(std::string& out, std::string_view line, bool example, std::size_t width) {
    const auto columns = columns_of(line);
    if (line.size() <= width || (example && columns.size() == 1)) {
        out.append(line) += '\n';
    } else if (columns.size() == 1) {
        const auto indent = columns[0].at + narrowest_column <= width ? columns[0].at : below;
        fill(out, std::string(indent, ' '), columns[0].text, indent, width);
    } else if (example) {
        out.append(columns[0].at, ' ').append(columns[0].text) += '\n';
        for (std::size_t i = 1; i < columns.size(); ++i)
            fill(out, std::string(below, ' '), columns[i].text, below, width);
    } else {
        // Further pairs get the columns of the first.
        const auto left = columns[0].at;
        const auto right = columns[1].at;
        for (std::size_t i = 0; i < columns.size(); i += 2) {
            const column head{left, columns[i].text};
            if (i + 1 < columns.size())
                put_pair(out, head, {right, columns[i + 1].text}, width);
            else
                fill(out, std::string(left, ' '), head.text, below, width);
        }
    }
}

}  // namespace

std::size_t terminal_width(int fd) {
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_width;
    return std::max<std::size_t>(size.ws_col, narrowest);
}

std::string filled(std::string_view sentence, std::size_t first, std::size_t rest, std::size_t width) {
    std::string out;
    fill(out, std::string(first, ' '), sentence, rest, width);
    return out;
}

std::string wrapped(std::string_view help, std::size_t width) {
    std::string out;
    std::string paragraph;
    bool too_wide = false;
    std::string as_it_is;
    bool examples = false;
    const auto end_paragraph = [&] {
        if (too_wide)
            fill(out, {}, paragraph, 0, width);
        else
            out += as_it_is;
        paragraph.clear();
        as_it_is.clear();
        too_wide = false;
    };
    while (!help.empty()) {
        const auto line = help.substr(0, help.find('\n'));
        help.remove_prefix(std::min(help.size(), line.size() + 1));
        if (line.empty() || line.starts_with(' ')) {
            end_paragraph();
            put_indented(out, line, examples, width);
            continue;
        }
        examples = line == "Examples:";
        too_wide = too_wide || line.size() > width;
        paragraph.append(paragraph.empty() ? "" : " ").append(line);
        as_it_is.append(line) += '\n';
        if (line.ends_with(':')) end_paragraph();
    }
    end_paragraph();
    return out;
}

}  // namespace holdfast::cli
