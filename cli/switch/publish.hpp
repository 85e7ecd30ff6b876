// holdfast switch publish: writes the document that clients with a switch source arbiter:URL read.
#pragma once

#include <holdfast/config.hpp>

#include <string>

namespace holdfast::cli {

// `file` may be "-", the standard input. Prints what was done and returns the exit code. Throws usage_error
// for a file that cannot be read.
[[nodiscard]] int publish(const config& settings, const std::string& file, bool json);

}  // namespace holdfast::cli
