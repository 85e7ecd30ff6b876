// Help texts for the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::cli {

// The columns of the terminal on standard output; 80 when there is none.
[[nodiscard]] std::size_t terminal_width();

// Breaks lines between words so that they fit. A paragraph that is too wide is filled anew; what stands in
// columns keeps them, a pair to a line. A command line under "Examples:" is never broken: it is there to be
// copied.
[[nodiscard]] std::string wrapped(std::string_view help, std::size_t width);

}  // namespace holdfast::cli
