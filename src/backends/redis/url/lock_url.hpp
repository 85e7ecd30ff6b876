// The URL of a lock store on Redis: that of the server or cluster, and the options of the locks.
#pragma once

#include "redis/cluster/cluster_config.hpp"
#include "redis/config/node_config.hpp"

#include <chrono>
#include <string_view>
#include <variant>

namespace holdfast::redis_backend {

// A server that may have lost locks grants none until the longest lease is over.
struct quarantine_rules {
    bool after_restart = false;   // treat each restart as one without data
    bool after_failover = false;  // a promoted replica may lack locks
    std::chrono::milliseconds longest_lease{60'000};

    [[nodiscard]] bool wanted() const noexcept { return after_restart || after_failover; }
};

struct lock_url {
    std::variant<redis::node_config, redis::cluster_config> server;
    quarantine_rules quarantine;  // not wanted in a cluster
};

// The URLs of redis::parse_url and redis::parse_cluster_url. Options besides theirs, but not in a cluster:
// restarts=trusted|quarantined, failover=best_effort|grace, longest_lease (a duration). Reads files, and
// throws like parse_url.
[[nodiscard]] lock_url parse_lock_url(std::string_view url);

}  // namespace holdfast::redis_backend
