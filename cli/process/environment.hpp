// The environment, as text.
#pragma once

#include <cstdlib>
#include <string_view>

namespace holdfast::cli {

// Returns the variable's value, or an empty text if it is not set.
[[nodiscard]] inline std::string_view environment_variable(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets one
    return value != nullptr ? value : "";
}

}  // namespace holdfast::cli
