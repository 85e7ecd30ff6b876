// Results as a document for people: docs/ladder.md is one. Nothing in it changes from run to run.
#pragma once

#include "cli/lab/results.hpp"

#include <string>

namespace holdfast::lab {

[[nodiscard]] std::string as_markdown(const results& all);

}  // namespace holdfast::lab
