// What endangers locks in a database file.
#pragma once

#include "backends/sqlite/database.hpp"

#include <holdfast/examination.hpp>

namespace holdfast::sqlite_backend {

// Throws database_error.
[[nodiscard]] examination examine(database& file);

}  // namespace holdfast::sqlite_backend
