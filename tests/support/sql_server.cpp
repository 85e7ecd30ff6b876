#include "support/sql_server.hpp"

#ifdef HOLDFAST_HAS_MARIADB
#include "support/mariadb_server.hpp"
#endif
#ifdef HOLDFAST_HAS_POSTGRES
#include "support/postgres_server.hpp"
#endif

#include <filesystem>
#include <ostream>
#include <stdexcept>

namespace holdfast::test {

namespace {

#ifdef HOLDFAST_HAS_POSTGRES
std::unique_ptr<sql_server> start_postgres(const sql_server_options& how) {
    postgres_server::options wanted;
    wanted.environment = how.environment;
    if (const auto* const its = how.shows) {
        postgres_server::give(its->key);
        std::filesystem::permissions(std::filesystem::path{its->key}.parent_path(),
                                     std::filesystem::perms::all);
        wanted.settings = {"ssl=on", "ssl_cert_file=" + its->cert, "ssl_key_file=" + its->key};
    }
    return std::make_unique<postgres_server>(wanted);
}
#endif

#ifdef HOLDFAST_HAS_MARIADB
std::unique_ptr<sql_server> start_mariadb(const sql_server_options& how) {
    mariadb_server::options wanted;
    wanted.environment = how.environment;
    if (const auto* const its = how.shows) wanted.settings = {"ssl-cert=" + its->cert, "ssl-key=" + its->key};
    return std::make_unique<mariadb_server>(wanted);
}
#endif

}  // namespace

const char* name_of(sql_kind one) {
    switch (one) {
        case sql_kind::postgres: return "postgres";
        case sql_kind::mariadb: return "mariadb";
    }
    return "";
}

void PrintTo(sql_kind one, std::ostream* to) { *to << name_of(one); }

std::vector<sql_kind> sql_kinds() {
    return {
#ifdef HOLDFAST_HAS_POSTGRES
        sql_kind::postgres,
#endif
#ifdef HOLDFAST_HAS_MARIADB
        sql_kind::mariadb,
#endif
    };
}

// A client of PostgreSQL takes it to be on another machine, because only then must it show a certificate.
const char* name_to_certify(sql_kind one) {
    switch (one) {
        case sql_kind::postgres: return "DNS:db.example.org";
        case sql_kind::mariadb: return "IP:127.0.0.1";
    }
    return "";
}

std::unique_ptr<sql_server> start_sql_server(sql_kind one, [[maybe_unused]] const sql_server_options& how) {
#ifdef HOLDFAST_HAS_POSTGRES
    if (one == sql_kind::postgres) return start_postgres(how);
#endif
#ifdef HOLDFAST_HAS_MARIADB
    if (one == sql_kind::mariadb) return start_mariadb(how);
#endif
    throw std::runtime_error{std::string{"this build has no driver for "} + name_of(one)};
}

}  // namespace holdfast::test
