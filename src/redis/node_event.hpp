// What happens to the connections of a server.
#pragma once

#include "redis/connection/server_info.hpp"
#include "redis/protocol/outcome.hpp"

#include <string>

namespace holdfast::redis {

// Reported on the reactor thread; the callback is short and never blocks.
struct node_event {
    enum class what {
        up,       // all connected; `server` is filled
        down,     // a connection is lost or cannot be made; see `why`. Once per loss, not per try
        refused,  // the server refuses us (password, database); tried again, seldom
    } kind;
    server_info server;      // of `up`
    bool restarted = false;  // of `up`: the server has restarted since the last connection
    std::string moved_from;  // of `up`: address of the former server, if it has changed
    fault why;               // of `down` and `refused`
    std::string address{};   // of `up`: the server's, if there are several
};

}  // namespace holdfast::redis
