// Opens the recipes' data by its URL. The build says which of the databases there are.
#pragma once

#include "sqlite.hpp"

#ifdef HOLDFAST_HAS_MARIADB
#include "mariadb.hpp"
#endif
#ifdef HOLDFAST_HAS_POSTGRES
#include "postgres.hpp"
#endif

#include <memory>
#include <regex>
#include <stdexcept>
#include <string>

namespace recipes {

// sqlite:FILE, postgres://user:password@host:port/database, mariadb://user:password@host:port/database
inline std::unique_ptr<database> open_database(const std::string& url) {
    if (url.starts_with("sqlite:")) return std::make_unique<sqlite_database>(url.substr(7));
#ifdef HOLDFAST_HAS_POSTGRES
    if (url.starts_with("postgres://")) return std::make_unique<postgres_database>(url);
#endif
#ifdef HOLDFAST_HAS_MARIADB
    static const std::regex mariadb{"(?:mariadb|mysql)://([^:@]*)(?::([^@]*))?@([^:/]+)(?::([0-9]+))?/(.+)"};
    std::smatch part;
    if (std::regex_match(url, part, mariadb))
        return std::make_unique<mariadb_database>(
            mariadb_address{.host = part[3],
                            .port = part[4].matched ? static_cast<unsigned>(std::stoul(part[4])) : 3306U,
                            .user = part[1],
                            .password = part[2],
                            .database = part[5]});
#endif
    throw std::runtime_error(url + ": this build has no such database");
}

}  // namespace recipes
