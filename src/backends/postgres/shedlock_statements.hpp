// The table of ShedLock and the statements on it, in PostgreSQL's words.
#pragma once

#include "backends/postgres/schema.hpp"
#include "backends/sql/shedlock.hpp"

namespace holdfast::postgres_backend {

[[nodiscard]] const sql_backend::shedlock_dialect& shedlock_dialect();
// As ShedLock's documentation makes it.
[[nodiscard]] const table& table_of_shedlock() noexcept;

}  // namespace holdfast::postgres_backend
