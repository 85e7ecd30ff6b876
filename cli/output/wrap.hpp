// Fits texts to the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::cli {

// The columns of the terminal `fd`, at least 40; 80 if `fd` is not a terminal.
[[nodiscard]] std::size_t terminal_width(int fd = 1);

// Breaks a sentence between words into lines that fit. The first line is indented by `first` spaces, the
// others by `rest`. A word that is too long is broken at a comma, or sticks out.
[[nodiscard]] std::string filled(std::string_view sentence, std::size_t first, std::size_t rest,
                                 std::size_t width);

// Breaks the lines of a help text between words so that they fit. A paragraph that is too wide is filled
// anew. Columns stay columns, one pair per line. A command line under "Examples:" is never broken: it is
// there to be copied.
[[nodiscard]] std::string wrapped(std::string_view help, std::size_t width);

}  // namespace holdfast::cli
