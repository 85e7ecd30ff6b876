// The URL of a store in a PostgreSQL database.
#pragma once

#include "backends/sql/url_options.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::postgres_backend {

struct url {
    // For libpq, by its own names.
    std::vector<std::pair<std::string, std::string>> parameters;
    bool create = false;  // make the tables that are missing
    sql_backend::layout table = sql_backend::layout::holdfast;
    // Grant nothing for this long after a crash or a promotion, and no longer lease; empty: trust the server.
    std::optional<std::chrono::milliseconds> longest_lease{};
    std::string where;  // for people, without a password: "db.example.org/app"
};

// "postgres://" or "postgresql://" and all that libpq's URLs have, with the options of holdfast
// (sql_backend::url_options). Verifies the certificates of servers on other machines, unless the URL or the
// environment names an sslmode or a service. Throws holdfast::error (errc::invalid_argument).
[[nodiscard]] url parse_url(std::string_view text);

}  // namespace holdfast::postgres_backend
