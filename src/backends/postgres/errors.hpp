// What an error of the server means for a lock.
#pragma once

#include "backends/sql/database.hpp"

#include <string>
#include <string_view>

namespace holdfast::postgres_backend {

// `sqlstate` is empty if libpq reports the error itself. `changes`: the statement may have been committed if
// the connection was lost.
[[nodiscard]] sql_backend::fault fault_of(std::string_view sqlstate, std::string_view text, bool changes);

}  // namespace holdfast::postgres_backend
