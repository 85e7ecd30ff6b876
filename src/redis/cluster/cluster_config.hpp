// How to reach a Redis Cluster.
#pragma once

#include "redis/cluster/cluster_map.hpp"
#include "redis/config/node_config.hpp"
#include "redis/config/url.hpp"

#include <string_view>
#include <vector>

namespace holdfast::redis {

// How other client libraries publish in this cluster; all clients must agree. The names are those of
// Redisson's shardedSubscriptionMode.
enum class sharded_channels {
    automatic,  // sharded if the server knows PUBSUB SHARDNUMSUB: Redisson's test
    on,
    off,
};

struct cluster_config {
    std::vector<endpoint> seeds;   // any of its servers; the first that answers names all others
    node_config each;              // for every server but for host, port and certificate name
    bool one_server_name = false;  // all certificates have the name in `each.tls`
    sharded_channels sharded = sharded_channels::automatic;
};

[[nodiscard]] bool is_cluster_url(std::string_view url) noexcept;

//   redis+cluster://[user[:password]@]host[:port][,host[:port]...][?option=value&...]
//   rediss+cluster://...                                            the same, always with TLS
// Options: those of redis and rediss except db, since a cluster has only one, and sharded=auto|on|off.
// Throws like parse_url.
[[nodiscard]] cluster_config parse_cluster_url(std::string_view url, other_options* others = nullptr);

// The configuration for one server of the cluster.
[[nodiscard]] node_config node_config_of(const cluster_config&, const endpoint&);

}  // namespace holdfast::redis
