// What one sentinel says of the master.
#pragma once

#include "redis/config/node_config.hpp"
#include "redis/protocol/outcome.hpp"

#include <cstdint>

namespace holdfast::redis {

// The answer of one sentinel.
struct sentinel_reply {
    enum class what {
        names,         // the master is at `master` since failover number `epoch`
        unknown_name,  // it watches no master of that name
        refuses,       // it refuses us as we are configured
        no_sentinel,   // it does not know the command
        silent,        // unreachable, or no usable answer
    } kind = what::silent;
    host_port master{};
    std::uint64_t epoch = 0;
    fault why{};  // for the last three
};

}  // namespace holdfast::redis
