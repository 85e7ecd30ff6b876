// The file of --config: lines "key = value" with the fields of holdfast::config, '#' starts a comment line. A
// value may stand in double or single quotes.
#pragma once

#include <holdfast/config.hpp>

#include <string>
#include <string_view>

namespace holdfast::cli {

// `file` is only for messages. Throws usage_error with "file:line: ..." for an unknown or repeated key
// and for a value that cannot be read.
[[nodiscard]] config parse_config(std::string_view text, const std::string& file);

// Throws usage_error also when the file cannot be read.
[[nodiscard]] config read_config(const std::string& file);

}  // namespace holdfast::cli
