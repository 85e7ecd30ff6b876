// Texts for the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::cli {

// The columns of the terminal that `fd` is, 40 at least; 80 when it is none.
[[nodiscard]] std::size_t terminal_width(int fd = 1);

// A sentence in lines that are broken between words so that they fit: `first` spaces stand before the first
// line, `rest` before each other one. A word that is too long is broken at a comma, or sticks out.
[[nodiscard]] std::string filled(std::string_view sentence, std::size_t first, std::size_t rest,
                                 std::size_t width);

// A help text: breaks lines between words so that they fit. A paragraph that is too wide is filled anew; what
// stands in columns keeps them, a pair to a line. A command line under "Examples:" is never broken: it is
// there to be copied.
[[nodiscard]] std::string wrapped(std::string_view help, std::size_t width);

}  // namespace holdfast::cli
