// The table of locks and the statements on it, in MariaDB's words.
#pragma once

#include "backends/sql/dialect.hpp"
#include "backends/sql/table.hpp"
#include "backends/sql/url_options.hpp"

#include <string>
#include <string_view>

namespace holdfast::mariadb_backend {

[[nodiscard]] const sql_backend::dialect& dialect();
// The same, with rings by KILL QUERY.
[[nodiscard]] const sql_backend::dialect& ringing_dialect();

// The statement as the server reads it: $1 to $9 stand for the parameters. Bytes and characters become
// hexadecimal literals.
[[nodiscard]] std::string text_of(const sql_backend::statement& what);

[[nodiscard]] const sql_backend::table& table_of_locks(sql_backend::layout of) noexcept;
// Makes it and grants the rights to the user in the URL ("app" if it names none), for the command mariadb.
// Throws as parse_url().
[[nodiscard]] std::string schema_for(std::string_view url);

// While a client waits or holds for long, a session of it has the user lock of this name.
[[nodiscard]] std::string presence_of(std::int64_t client);
// What that session executes meanwhile; operators and other clients see in it to whom it belongs.
[[nodiscard]] std::string sleep_of(std::string_view label, std::chrono::seconds span);

}  // namespace holdfast::mariadb_backend
