// What endangers locks in a MariaDB server.
#pragma once

#include "backends/sql/database.hpp"
#include "backends/sql/url_options.hpp"

#include <holdfast/examination.hpp>

namespace holdfast::mariadb_backend {

// Calls the handler once.
void examine(sql_backend::layout of, sql_backend::database& on, sql_backend::time_point deadline,
             sql_backend::handler<backend::result<examination>> done);

}  // namespace holdfast::mariadb_backend
