// A timeline as lines of text.
#pragma once

#include "cli/stage/page.hpp"
#include "lab/timeline.hpp"

#include <cstddef>
#include <string>

namespace holdfast::lab {

enum class show_times { no, yes };

// `=` while one believes to hold the lock, `X` where two do, `-` while one waits. Painted as the page paints;
// nullptr: as in a file, 80 columns wide.
[[nodiscard]] std::string as_text(const timeline& lanes, const cli::stage::page* on, show_times times);

}  // namespace holdfast::lab
