// A MariaDB server and its clients.
#pragma once

#include "support/mariadb_server.hpp"

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <string>

namespace holdfast::test {

inline config mariadb_settings(const std::string& url,
                               std::chrono::milliseconds lease = std::chrono::seconds{30}) {
    config how;
    how.url = url;
    how.lease = lease;
    return how;
}

}  // namespace holdfast::test
