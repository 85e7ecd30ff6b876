// The table of ShedLock and the statements on it, in MariaDB's words.
#pragma once

#include "backends/sql/shedlock.hpp"
#include "backends/sql/table.hpp"

namespace holdfast::mariadb_backend {

[[nodiscard]] const sql_backend::shedlock_dialect& shedlock_dialect();
// As ShedLock's documentation makes it, but with times that are the same in every session.
[[nodiscard]] const sql_backend::table& table_of_shedlock() noexcept;

}  // namespace holdfast::mariadb_backend
