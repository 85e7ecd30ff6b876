// Looking at the servers of one store, however many they are, and putting together what was found.
#pragma once

#include "backends/redis/doctor/asking.hpp"
#include "backends/redis/doctor/visits.hpp"
#include "redis/cluster_config.hpp"
#include "redis/node.hpp"

#include <functional>

namespace holdfast::redis_backend::doctor {

using examined = std::function<void(backend::result<examination>)>;

// A server by itself.
void examine_server(redis::node&, const inquiry&, examined done);
// The master, its replicas, and the sentinels of `config` that tell where it is.
void examine_watched(redis::node& master, const redis::node_config& config, visits&, const inquiry&,
                     examined done);
// All servers that any master of it knows.
void examine_cluster(redis::database&, const redis::cluster_config&, visits&, const inquiry&, examined done);

// --- for these --------------------------------------------------------------------------------------

// The server and what is found of it; one that cannot be asked is a finding too. What servers say alike of
// what they belong to is told once.
void add_to(examination&, const visited&);

}  // namespace holdfast::redis_backend::doctor
