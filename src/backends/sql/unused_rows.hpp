// Removes the rows of locks that nobody uses any more.
#pragma once

#include "backends/sql/change.hpp"

#include <cstddef>
#include <functional>

namespace holdfast::sql_backend {

// Those that nobody has changed for a week, and that hold nothing but the last fence: the next fence follows
// the database's clock. Page by page. Without the right to delete, none. Calls `done` once, with how many it
// has removed.
void remove_unused_rows(const change_tools& with, time_point deadline, std::function<void(std::size_t)> done);

}  // namespace holdfast::sql_backend
