// Writes results as JSON.
#pragma once

#include "cli/lab/results.hpp"

#include <nlohmann/json_fwd.hpp>

namespace holdfast::lab {

[[nodiscard]] nlohmann::ordered_json as_json(const results& all);

}  // namespace holdfast::lab
