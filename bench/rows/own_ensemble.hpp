// The ZooKeeper of a row.
#pragma once

#include "support/zookeeper_server.hpp"

#include <holdfast/holdfast.hpp>

#include <chrono>

namespace holdfast::bench {

// One server that waits for its disk, as by default.
struct own_ensemble {
    own_ensemble()
        : servers{{.tick = std::chrono::seconds{2}, .longest = 20, .synced = true}},
          ours{.url = servers.url()} {}

    test::zookeeper_servers servers;
    config ours;
};

}  // namespace holdfast::bench
