// The URL of a store in a MariaDB database.
#pragma once

#include "backends/sql/url_options.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::mariadb_backend {

enum class tls {
    off,
    unverified,  // encrypted, with anybody
    verified,    // with a certificate for the name of the server
};

struct url {
    struct server {
        std::string host;        // empty: the socket of this machine
        std::uint16_t port = 0;  // 0: the registered one

        friend bool operator==(const server&, const server&) = default;
    };
    std::vector<server> servers;  // the first that takes writes serves
    std::string socket;           // a path; empty: the library's own
    std::string user;             // empty: by the option file, or the name of the process's user
    std::optional<std::string> password;
    std::string database;
    tls encryption = tls::off;
    std::string ca;       // a file
    std::string ca_path;  // a folder
    std::string certificate;
    std::string key;
    std::string defaults_file;

    bool rings = false;   // wake waiters by KILL QUERY
    bool create = false;  // make the table if it is missing
    sql_backend::layout table = sql_backend::layout::holdfast;
    // Grant nothing for this long after a start of the server, and no longer lease; empty: trust the server.
    std::optional<std::chrono::milliseconds> longest_lease{};
    std::string where;  // for people, without a password: "db.example.org/app"
};

// "mysql://" or "mariadb://", then USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE and options: socket, ssl-mode
// (disabled, required or verify_identity), ssl-ca, ssl-capath, ssl-cert, ssl-key, defaults-file, wake (poll
// or kill); those of sql_backend::url_options. %XX is the byte XX. Servers on other machines must show a
// certificate unless ssl-mode says otherwise. Throws holdfast::error (errc::invalid_argument), without a
// password in its text.
[[nodiscard]] url parse_url(std::string_view text);

}  // namespace holdfast::mariadb_backend
