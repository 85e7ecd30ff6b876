// What an error of the server means for a lock.
#pragma once

#include "backends/sql/database.hpp"

#include <string_view>

namespace holdfast::mariadb_backend {

// `number` is the server's, or libmariadb's own (from 2000). `changes`: the statement may have been committed
// if the connection was lost.
[[nodiscard]] sql_backend::fault fault_of(unsigned number, std::string_view text, bool changes);

// The session is lost.
[[nodiscard]] bool ends_session(unsigned number) noexcept;
// The session goes on, but the server will not do what we want in it any more.
[[nodiscard]] bool spends_session(unsigned number) noexcept;
// A row of that name is there already.
inline constexpr unsigned duplicate_row = 1062;
inline constexpr unsigned no_such_table = 1146;

}  // namespace holdfast::mariadb_backend
