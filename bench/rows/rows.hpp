// Functions that set up a row; the files of this folder define them.
#pragma once

#include "harness.hpp"

namespace holdfast::bench {

std::unique_ptr<row> uncontended(redis_server&);
std::unique_ptr<row> cluster(redis_server&);
std::unique_ptr<row> kinds(redis_server&);
std::unique_ptr<row> replicas(redis_server&);
std::unique_ptr<row> distinct_locks(redis_server&, int threads);
std::unique_ptr<row> handed_over(redis_server&);
std::unique_ptr<row> hot_lock(redis_server&);
std::unique_ptr<row> recursive_turns(redis_server&);
std::unique_ptr<row> fair_turns(redis_server&);
std::unique_ptr<row> semaphore_turns(redis_server&);
std::unique_ptr<row> renewal(redis_server&);
std::unique_ptr<row> async_many(redis_server&);
std::unique_ptr<row> memory(redis_server&);
std::unique_ptr<row> scale_held(redis_server&);
std::unique_ptr<row> scale_waiters(redis_server&);
std::unique_ptr<row> scale_clients(redis_server&);
std::unique_ptr<row> sqlite_uncontended(redis_server&);
std::unique_ptr<row> sqlite_turns(redis_server&);
std::unique_ptr<row> file_uncontended(redis_server&);
std::unique_ptr<row> file_turns(redis_server&);
std::unique_ptr<row> mariadb_uncontended(redis_server&);
std::unique_ptr<row> mariadb_turns(redis_server&);
std::unique_ptr<row> mariadb_renewals(redis_server&);
std::unique_ptr<row> postgres_uncontended(redis_server&);
std::unique_ptr<row> postgres_turns(redis_server&);
std::unique_ptr<row> postgres_turns_on_slow_disk(redis_server&);
std::unique_ptr<row> postgres_renewals(redis_server&);
std::unique_ptr<row> zookeeper_uncontended(redis_server&);
std::unique_ptr<row> zookeeper_turns(redis_server&);
std::unique_ptr<row> zookeeper_semaphore(redis_server&);
std::unique_ptr<row> joint(redis_server&);
std::unique_ptr<row> joint_switch(redis_server&);
std::unique_ptr<row> outage(redis_server&);
std::unique_ptr<row> outage_begins(redis_server&);
std::unique_ptr<row> redlock(redis_server&);
std::unique_ptr<row> curator_turns(redis_server&);
std::unique_ptr<row> curator_semaphore(redis_server&);
std::unique_ptr<row> peers_pairs(redis_server&, int threads);
std::unique_ptr<row> peers_turns(redis_server&, int processes);
std::unique_ptr<row> peers_renewal(redis_server&);

}  // namespace holdfast::bench
