// Decides what the answers of a server mean for locks. No I/O; one file per idea.
#pragma once

#include "backends/redis/doctor/catalogue.hpp"
#include "backends/redis/doctor/survey.hpp"

namespace holdfast::redis_backend::doctor {

void check_server(const survey&, report&);       // version, role, clients, time-outs
void check_memory(const survey&, report&);       // eviction, room
void check_persistence(const survey&, report&);  // what is lost in a restart
void check_replication(const survey&, report&);  // what is lost in a failover
void check_clock(const survey&, report&);        // offset, round trip
void check_connection(const survey&, report&);   // who can eavesdrop, when certificates end
void check_messages(const survey&, report&);     // who receives our messages
void check_rights(const survey&, report&);       // what the user may do
void check_cluster(const survey&, report&);
void check_sentinel(const survey&, report&);

// The findings of all checks that apply to this server.
[[nodiscard]] std::vector<finding> judge(const survey&);

}  // namespace holdfast::redis_backend::doctor
