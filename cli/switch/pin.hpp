// holdfast switch pin: what people have to do when the arbiter of a group is lost for good.
#pragma once

#include <holdfast/config.hpp>

#include <string>

namespace holdfast::cli {

// Prints it and returns the exit code. Asks no server. Throws usage_error for a level that is no number.
[[nodiscard]] int show_pin(const config& settings, const std::string& level, bool json);

}  // namespace holdfast::cli
