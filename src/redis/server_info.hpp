// What a server says of itself when a connection is made.
#pragma once

#include <chrono>
#include <string>

namespace holdfast::redis {

// Fields are empty when the server would not tell (INFO may be forbidden).
struct server_info {
    std::string run_id;   // changes with every start of the server
    std::string version;  // "7.0.15"
    std::chrono::seconds uptime{0};
    std::string maxmemory_policy;  // anything but "noeviction" may drop keys
    std::string role;              // "master" or "slave"
};

}  // namespace holdfast::redis
