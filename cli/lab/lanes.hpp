// Writes a timeline as lines of text.
#pragma once

#include "cli/output/page.hpp"
#include "lab/play/timeline.hpp"

#include <cstddef>
#include <string>

namespace holdfast::lab {

enum class show_times { no, yes };

// `=` while one process believes that it holds the lock, `X` while two do, `-` while one waits. In the
// colours and the width of the page `on`; nullptr: without colours, 80 columns wide, as in a file.
[[nodiscard]] std::string as_text(const timeline& lanes, const cli::page* on, show_times times);

}  // namespace holdfast::lab
