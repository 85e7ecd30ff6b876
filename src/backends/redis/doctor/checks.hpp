// Decides what the answers of a server mean for locks. No I/O; one file per idea.
#pragma once

#include "backends/redis/doctor/catalogue.hpp"
#include "backends/redis/doctor/snapshot.hpp"

namespace holdfast::redis_backend::doctor {

void check_server(const snapshot&, report&);       // version, role, clients, time-outs
void check_memory(const snapshot&, report&);       // eviction, room
void check_persistence(const snapshot&, report&);  // what is lost in a restart
void check_replication(const snapshot&, report&);  // what is lost in a failover
void check_clock(const snapshot&, report&);        // offset, round trip
void check_connection(const snapshot&, report&);   // who can eavesdrop, when certificates end
void check_messages(const snapshot&, report&);     // who receives our messages
void check_rights(const snapshot&, report&);       // what the user may do
void check_cluster(const snapshot&, report&);
void check_sentinel(const snapshot&, report&);

// The findings of all checks that apply to this server.
[[nodiscard]] std::vector<finding> judge(const snapshot&);

}  // namespace holdfast::redis_backend::doctor
