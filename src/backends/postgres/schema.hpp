// The table of locks and the statements on it, in PostgreSQL's words.
#pragma once

#include "backends/sql/dialect.hpp"

#include <string>
#include <string_view>

namespace holdfast::postgres_backend {

[[nodiscard]] const sql_backend::dialect& dialect();

// Make the tables, with ?create=true.
[[nodiscard]] const char* table_of_locks() noexcept;
[[nodiscard]] const char* table_of_runs() noexcept;
// Both, and the rights of the user in the URL ("app" if it names none), for psql. Throws as parse_url().
[[nodiscard]] std::string schema_for(std::string_view url);

}  // namespace holdfast::postgres_backend
