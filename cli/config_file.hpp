// The file of --config: lines "key = value" with the fields of holdfast::config, and "policy.NAME.key =
// value" with those of a policy. '#' starts a comment line. A value may be in double or single quotes.
#pragma once

#include <holdfast/config.hpp>

#include <string>
#include <string_view>

namespace holdfast::cli {

// `file` is used in messages only. Throws usage_error with "file:line: ..." for an unknown or repeated key
// and for an invalid value.
[[nodiscard]] config parse_config(std::string_view text, const std::string& file);

// As parse_config(). Also throws usage_error if the file cannot be read.
[[nodiscard]] config read_config(const std::string& file);

}  // namespace holdfast::cli
