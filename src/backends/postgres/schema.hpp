// The table of locks and the statements on it, in PostgreSQL's words.
#pragma once

#include "backends/sql/dialect.hpp"
#include "backends/sql/table.hpp"
#include "backends/sql/url_options.hpp"

#include <string>
#include <string_view>

// A branch of CASE in a statement whose commit has to be on the disk when it is answered. Behind a pooler a
// session has the settings of the server, not those that settle() makes.
#define HOLDFAST_DURABLE \
    "WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true)"

namespace holdfast::postgres_backend {

[[nodiscard]] const sql_backend::dialect& dialect();

using sql_backend::table;
[[nodiscard]] const table& table_of_locks(sql_backend::layout of) noexcept;
[[nodiscard]] const table& table_of_runs() noexcept;
// The tables, and the rights of the user in the URL ("app" if it names none), for psql. Throws as
// parse_url().
[[nodiscard]] std::string schema_for(std::string_view url);

}  // namespace holdfast::postgres_backend
