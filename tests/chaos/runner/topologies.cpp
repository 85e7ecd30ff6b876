#include "chaos/runner/topology.hpp"

namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;

// served_within: the bound of docs/safety.md S3 for these settings: the rest of the longest lease (twice
// `lease`), a poll gap (0.2 s), and for one waiter that was just granted the lock and could not be reached,
// the grant's 3 s and a gap. Then the waiters have the lock in turn for moments; some are careless and work
// on for three leases. The rest is for new connections and for a busy machine.
constexpr topology_row known_topologies[] = {
    {"single", "one redis-server that keeps what it acknowledged", &make_single, &troubles_of_single, 1, 0, 1,
     0, 600ms, 10'000ms, 9'000ms},
    {"sentinel", "a master, two replicas that both confirm each grant, and three sentinels", &make_sentinel,
     &troubles_of_sentinel, 0, 3, 3, 2, 2'000ms, 11'000ms, 18'000ms},
    {"cluster", "three masters, each with a replica that confirms each grant", &make_cluster,
     &troubles_of_cluster, 0, 6, 6, 1, 2'000ms, 11'000ms, 18'000ms},
    {"quorum", "a redlock of five servers that forget all when they are killed", &make_quorum,
     &troubles_of_quorum, 5, 0, 5, 0, 600ms, 10'000ms, 9'000ms},
    {"sqlite", "a file that the processes of one machine share", &make_one_file, &troubles_of_one_file, 0, 0,
     0, 0, 600ms, 10'000ms, 9'000ms},
    {"file", "lock files that the processes of one machine share with flock(1)", &make_lock_files,
     &troubles_of_lock_files, 0, 0, 0, 0, 600ms, 10'000ms, 9'000ms},
#ifdef HOLDFAST_HAS_POSTGRES
    {"postgres", "a table in a PostgreSQL server behind a link", &make_one_table, &troubles_of_one_table, 0,
     1, 0, 0, 1'000ms, 10'000ms, 12'000ms},
#endif
#ifdef HOLDFAST_HAS_MARIADB
    {"mariadb", "a table in a MariaDB server behind a link", &make_one_table_of_mariadb,
     &troubles_of_one_table_of_mariadb, 0, 1, 0, 0, 1'000ms, 10'000ms, 12'000ms},
#endif
    // A session lasts 4/3 of a lease, and the next leader gives each its whole time again.
    {"zookeeper", "an ensemble of three ZooKeeper servers", &make_ensemble, &troubles_of_ensemble, 0, 3, 0, 0,
     3'000ms, 14'000ms, 27'000ms},
    // A server that was started again is in quarantine for four leases.
    {"joint", "a Redis and an SQLite file, one at a time, as the mode says", &make_joint, &troubles_of_joint,
     1, 0, 1, 0, 600ms, 10'000ms, 13'000ms},
    {"joint_zookeeper", "the same, with an arbiter of its own: an ensemble of three ZooKeeper servers",
     &make_joint_by_ensemble, &troubles_of_joint_by_ensemble, 1, 3, 1, 0, 600ms, 14'000ms, 18'000ms},
    {"joint_levels", "a Redis and an ensemble of three ZooKeeper servers, one at a time",
     &make_joint_with_ensemble, &troubles_of_joint_by_ensemble, 1, 3, 1, 0, 1'000ms, 14'000ms, 27'000ms},
};

}  // namespace

std::span<const topology_row> topologies() noexcept { return known_topologies; }

}  // namespace holdfast::chaos
