// Writes results as a document for people, such as docs/ladder.md. It is the same for every run.
#pragma once

#include "cli/lab/results.hpp"

#include <string>

namespace holdfast::lab {

[[nodiscard]] std::string as_markdown(const results& all);

}  // namespace holdfast::lab
