#include "rows/rows.hpp"

#include "support/peer.hpp"
#include "support/zookeeper_server.hpp"

#include <string>
#include <vector>

namespace holdfast::bench {

namespace {

std::string no_zookeeper() {
    return test::zookeeper_servers::available() ? ""
                                                : "Debian's package libzookeeper-java, or a Java, is missing";
}

std::string not_fetched(const std::vector<std::string>& clients) {
    for (const auto& one : clients)
        if (!test::is_fetched(one)) return one + " is missing: tests/interop/fetch.sh has not fetched it";
    return "";
}

}  // namespace

const std::vector<row_plan>& all_rows() {
    const auto threads = [](int n) {
        return [n](redis_server& server) { return distinct_locks(server, n); };
    };
    static const std::vector<row_plan> rows{
        {"uncontended", "lock and unlock, one thread, against two blocking round trips", "us",
         placement::split, uncontended},
        {"kinds", "the other kinds: acquire and release, one thread, against two blocking round trips", "us",
         placement::split, kinds},
        {"replicas",
         "acquire and release, one thread, each grant confirmed by a replica, against the same by hand", "us",
         placement::split, replicas},
        {"cluster", "lock and unlock by a client of a cluster, against one of a single server", "us",
         placement::split, cluster},
        {"threads-2",
         "2 threads, a lock each, redis_settings::connections = 4, against a connection per thread",
         "pairs/s", placement::anywhere, threads(2)},
        {"threads-4",
         "4 threads, a lock each, redis_settings::connections = 4, against a connection per thread",
         "pairs/s", placement::anywhere, threads(4)},
        {"threads-32", "32 threads, a lock each, against a connection per thread", "pairs/s",
         placement::anywhere, threads(32)},
        {"threads-128", "128 threads, a lock each, against a connection per thread", "pairs/s",
         placement::anywhere, threads(128)},
        {"async", "128 acquisitions in flight from one thread, against the same commands in a raw pipeline",
         "pairs/s", placement::split, async_many},
        {"hand-over", "32 processes take turns on one lock, against waking all by pub/sub", "acquisitions/s",
         placement::anywhere, handed_over},
        {"hot-lock", "2 processes of 16 threads on one lock, against no hand-over inside a process",
         "acquisitions/s", placement::anywhere, hot_lock},
        {"recursive", "8 processes hold one recursive_mutex for 1 ms each in turn", "acquisitions/s",
         placement::anywhere, recursive_turns},
        {"fair", "8 processes take turns on one fair_mutex, against waking all by pub/sub", "acquisitions/s",
         placement::anywhere, fair_turns},
        {"semaphore", "8 processes take turns on a semaphore of one permit, against waking all by pub/sub",
         "acquisitions/s", placement::anywhere, semaphore_turns},
        {"redlock", "a mutex on five servers, one thread, against PING to all five", "us", placement::split,
         redlock},
        {"joint", "lock and unlock in a joint store that uses its Redis, one thread, against plain Redis",
         "us", placement::split, joint},
        {"joint-switch",
         "p99.9 of acquisitions while a joint store changes its mode there and back; stores are 10 ms away",
         "us", placement::anywhere, joint_switch},
        {"outage", "lock and unlock while Redis is away and the policy fails open, against a std::mutex",
         "us", placement::split, outage},
        {"outage-begins", "from the death of Redis to the first grant, by policy", "ms", placement::anywhere,
         outage_begins},
        {"sqlite", "lock and unlock in an SQLite file, one thread, against two bare transactions", "us",
         placement::split, sqlite_uncontended},
        {"sqlite-turns", "8 processes take turns on a lock in an SQLite file, against a row that is polled",
         "changes of owner/s", placement::anywhere, sqlite_turns},
        {"file", "lock and unlock of a lock file, one thread, against flock(2) by hand", "us",
         placement::split, file_uncontended},
        {"file-turns", "8 processes take turns on a lock file, against flock(2) that blocks",
         "changes of owner/s", placement::anywhere, file_turns},
#ifdef HOLDFAST_HAS_MARIADB
        {"mariadb", "lock and unlock in a MariaDB table, one thread, against two statements", "us",
         placement::split, mariadb_uncontended},
        {"mariadb-turns", "8 processes take turns on a lock in a MariaDB table, against GET_LOCK with a row",
         "changes of owner/s", placement::anywhere, mariadb_turns},
        {"mariadb-renewals", "1,000 leases in a MariaDB table renewed, against a statement for each", "ms",
         placement::anywhere, mariadb_renewals},
#endif
#ifdef HOLDFAST_HAS_POSTGRES
        {"postgres", "lock and unlock in a PostgreSQL table, one thread, against two statements", "us",
         placement::split, postgres_uncontended},
        {"postgres-turns",
         "8 processes take turns on a lock in a PostgreSQL table, against an advisory lock with a row",
         "changes of owner/s", placement::anywhere, postgres_turns},
        {"postgres-turns-slow-disk", "the same where each fdatasync takes 2 ms longer", "changes of owner/s",
         placement::anywhere, postgres_turns_on_slow_disk},
        {"postgres-renewals", "1,000 leases in a PostgreSQL table renewed, against a statement for each",
         "ms", placement::anywhere, postgres_renewals},
#endif
        {"zookeeper", "lock and unlock in ZooKeeper, one thread, against a bare create and delete", "us",
         placement::split, zookeeper_uncontended, no_zookeeper},
        {"zookeeper-turns", "8 processes take turns on a lock in ZooKeeper, against the textbook's recipe",
         "changes of owner/s", placement::anywhere, zookeeper_turns, no_zookeeper},
        {"zookeeper-semaphore",
         "8 processes take turns on a semaphore of 2 permits in ZooKeeper, against its recipe by hand",
         "changes of owner/s", placement::anywhere, zookeeper_semaphore, no_zookeeper},
        {"renewal", "100,000 held locks renewed, against plain PEXPIRE", "ms", placement::anywhere, renewal},
        {"memory", "what a held lock and a waiter cost", "us each", placement::anywhere, memory},
        {"scale-held", "lock and unlock while the client holds others", "us", placement::split, scale_held},
        {"scale-waiters", "one lock, waiters of one client: until the last is served", "us each",
         placement::anywhere, scale_waiters},
        {"scale-clients", "one lock, clients that acquire again at once", "us a turn", placement::anywhere,
         scale_clients},
    };
    return rows;
}

const std::vector<row_plan>& peer_rows() {
    const auto pairs = [](int n) { return [n](redis_server& server) { return peers_pairs(server, n); }; };
    const auto turns = [](int n) { return [n](redis_server& server) { return peers_turns(server, n); }; };
    const std::string java = std::string{"redisson-"} + test::newest_redisson;
    const auto no_redis_client = [java] {
        return not_fetched({java, "redis_py", "redsync", "node_redlock"});
    };
    const auto no_redisson = [java] { return not_fetched({java}); };
    const auto no_curator = [] {
        const auto why = no_zookeeper();
        return why.empty() ? not_fetched({"curator"}) : why;
    };
    static const std::vector<row_plan> rows{
        {"pairs-1", "lock and unlock, one thread", "pairs/s", placement::anywhere, pairs(1), no_redis_client},
        {"pairs-32", "lock and unlock, 32 threads, a lock each", "pairs/s", placement::anywhere, pairs(32),
         no_redis_client},
        {"turns-2", "2 processes take turns on one lock", "acquisitions/s", placement::anywhere, turns(2),
         no_redis_client},
        {"turns-8", "8 processes take turns on one lock", "acquisitions/s", placement::anywhere, turns(8),
         no_redis_client},
        {"renewal", "10,000 held locks: the server's time for one renewal", "us", placement::anywhere,
         peers_renewal, no_redisson},
        {"curator-turns",
         "8 processes take turns on a lock in ZooKeeper, against 8 sessions of Curator in one JVM",
         "changes of owner/s", placement::anywhere, curator_turns, no_curator},
        {"curator-semaphore",
         "8 processes take turns on a semaphore of 2 permits in ZooKeeper, against 8 sessions of Curator in "
         "one JVM",
         "changes of owner/s", placement::anywhere, curator_semaphore, no_curator},
    };
    return rows;
}

}  // namespace holdfast::bench
