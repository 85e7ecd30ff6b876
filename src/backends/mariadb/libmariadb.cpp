#include "backends/mariadb/libmariadb.hpp"

#include "base/client_library.hpp"

#include <csignal>

namespace holdfast::mariadb_backend {

namespace {

libmariadb open_library() {
    const base::client_library file{"libmariadb.so.3", "mysql",
                                    "install MariaDB Connector/C 3.1 or later (Debian: libmariadb3)"};
    libmariadb all;
#define HOLDFAST_LIBMARIADB_LOAD(name) all.name = reinterpret_cast<decltype(all.name)>(file.function(#name));
    HOLDFAST_LIBMARIADB(HOLDFAST_LIBMARIADB_LOAD)
#undef HOLDFAST_LIBMARIADB_LOAD
    // It makes the process ignore SIGPIPE, which the commands that the process starts would inherit.
    struct sigaction before {};
    (void)::sigaction(SIGPIPE, nullptr, &before);
    (void)all.mysql_server_init(0, nullptr, nullptr);
    (void)::sigaction(SIGPIPE, &before, nullptr);
    return all;
}

}  // namespace

const libmariadb& my() {
    static const libmariadb all = open_library();
    return all;
}

}  // namespace holdfast::mariadb_backend
