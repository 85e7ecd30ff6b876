// Examines the servers of one store, one or more, and merges the findings.
#pragma once

#include "backends/redis/doctor/asking.hpp"
#include "backends/redis/doctor/visits.hpp"
#include "redis/cluster/cluster_config.hpp"
#include "redis/node/node.hpp"

#include <functional>

namespace holdfast::redis_backend::doctor {

using examined = std::function<void(backend::result<examination>)>;

// A single server.
void examine_server(redis::node&, const inquiry&, examined done);
// The master, its replicas, and the sentinels of `config` that watch it.
void examine_watched(redis::node& master, const redis::node_config& config, visits&, const inquiry&,
                     examined done);
// All servers that any master of the cluster lists.
void examine_cluster(redis::database&, const redis::cluster_config&, visits&, const inquiry&, examined done);

// --- helpers ----------------------------------------------------------------------------------------

// Adds a server and its findings; a server that does not answer is a finding, too. A finding about the
// cluster or the sentinels that several servers share appears once.
void add_to(examination&, const visited&);

}  // namespace holdfast::redis_backend::doctor
