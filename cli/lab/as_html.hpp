// Writes results as a page for a browser: one file that needs no other file and no script.
#pragma once

#include "cli/lab/results.hpp"
#include "lab/language.hpp"

#include <string>

namespace holdfast::lab {

[[nodiscard]] std::string as_html(const results& all, language spoken);

}  // namespace holdfast::lab
