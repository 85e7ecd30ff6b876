// What endangers locks in a directory of lock files.
#pragma once

#include <holdfast/examination.hpp>

#include <string>

namespace holdfast::file_backend {

// Throws std::system_error if there is no directory.
[[nodiscard]] examination examine(const std::string& directory);

}  // namespace holdfast::file_backend
