// Examines the servers of one store, one or more, and merges the findings.
#pragma once

#include "backends/redis/doctor/query.hpp"
#include "backends/redis/doctor/temporary_connections.hpp"
#include "redis/cluster/cluster_config.hpp"
#include "redis/node/node.hpp"

#include <functional>

namespace holdfast::redis_backend::doctor {

using examination_handler = std::function<void(backend::result<examination>)>;

// A single server.
void examine_server(redis::node&, const query&, examination_handler done);
// The master, its replicas, and the sentinels of `config` that watch it.
void examine_behind_sentinel(redis::node& master, const redis::node_config& config, temporary_connections&,
                             const query&, examination_handler done);
// All servers that any master of the cluster lists.
void examine_cluster(redis::database&, const redis::cluster_config&, temporary_connections&, const query&,
                     examination_handler done);

// --- helpers ----------------------------------------------------------------------------------------

// Adds a server and its findings; a server that does not answer is a finding, too. A finding about the
// cluster or the sentinels that several servers share appears once.
void add_to(examination&, const server_result&);

}  // namespace holdfast::redis_backend::doctor
