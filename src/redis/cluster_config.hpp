// How to reach a Redis Cluster.
#pragma once

#include "redis/cluster_map.hpp"
#include "redis/config.hpp"

#include <string_view>
#include <vector>

namespace holdfast::redis {

// How clients of other make in this cluster publish, which both sides must agree on. The names are those of
// Redisson's shardedSubscriptionMode.
enum class sharded_channels {
    automatic,  // sharded if the server knows PUBSUB SHARDNUMSUB, as Redisson finds out
    on,
    off,
};

struct cluster_config {
    std::vector<endpoint> seeds;   // any of its servers; the first that answers tells all the others
    node_config each;              // of every server but for host, port and the name in its certificate
    bool one_server_name = false;  // `each.tls` has the name that all certificates have
    sharded_channels sharded = sharded_channels::automatic;
};

[[nodiscard]] bool is_cluster_url(std::string_view url) noexcept;

//   redis+cluster://[user[:password]@]host[:port][,host[:port]...][?option=value&...]
//   rediss+cluster://...                                            the same in TLS, and never without
// Options as of redis and rediss, but for db: a cluster has only one. Besides sharded=auto|on|off.
// Throws as parse_url does.
[[nodiscard]] cluster_config parse_cluster_url(std::string_view url);

// For one of its servers.
[[nodiscard]] node_config node_config_of(const cluster_config&, const endpoint&);

}  // namespace holdfast::redis
