#include "backends/redis/doctor/catalogue.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace holdfast::redis_backend::doctor {

namespace {

constexpr std::array entries{
    // --- the server
    entry{"version", promise::live,
          "The scripts of several kinds use HRANDFIELD and ZADD GT, which came with Redis 6.2. From 5.0 on a "
          "mutex and a recursive_mutex work without them; a server before 5.0 is refused.",
          "Move to Redis 6.2 or later, or to Valkey."},
    entry{"role", promise::live, "Only a master grants locks. A replica answers READONLY.",
          "Give the URL of the master; behind Sentinel redis+sentinel:// with its name, and not an address."},
    entry{"unreachable", promise::live,
          "A server that does not answer, or refuses our login, grants no locks; such a replica cannot take "
          "over.",
          "Is the server running, and are address, user and password right? A server that is gone for good "
          "is to be taken out of the list of the others (CLUSTER FORGET, SENTINEL RESET)."},
    entry{"loading", promise::live, "Until the server has read its data it answers nothing but LOADING.",
          "Wait; smaller data loads faster, so give locks a server of their own."},
    entry{"client-limit", promise::live,
          "Beyond maxclients the server accepts no connection: a client that has lost its connection cannot "
          "renew, and loses its locks.",
          "Raise maxclients (and the limit of open files), or find who opens so many connections."},
    entry{"idle-timeout", promise::none,
          "The server closes a connection that is idle for this time. holdfast connects again, and the next "
          "lock waits for that.",
          "CONFIG SET timeout 0"},
    entry{"keepalive", promise::none,
          "Connections to machines that are gone stay open for ever: a waiter that is gone seems to listen, "
          "and receives locks by hand-off.",
          "CONFIG SET tcp-keepalive 300"},
    entry{"slow-scripts", promise::live,
          "While a slow script of another client runs, the server answers nothing for busy-reply-threshold "
          "and seems to be gone. Clients cannot renew leases meanwhile.",
          "CONFIG SET busy-reply-threshold to a sixth of the lease or less, and find the slow scripts "
          "(SLOWLOG GET)."},
    entry{"debug-command", promise::none, "DEBUG SLEEP and the like stop the server for all its clients.",
          "enable-debug-command no, in redis.conf"},
    entry{"pattern-subscribers", promise::live,
          "A mutex is handed off to a waiter whose client receives the message. A client that listens to a "
          "pattern of our channels counts as that client: then a dead waiter delays the waiters behind it by "
          "3 s.",
          "Narrow the pattern of the subscriber (CLIENT LIST TYPE pubsub, psub > 0) so that it does not "
          "cover holdfast:wake:*"},
    entry{"round-trip", promise::live,
          "A lease is shortened by the time its request takes, and a renewal that comes late loses the lock.",
          "Bring the server nearer, or lengthen the leases."},
    // --- memory and disk
    entry{"eviction-policy", promise::timed,
          "When memory is full the server throws keys away, and locks are keys: the next client is granted a "
          "lock that another client holds.",
          "CONFIG SET maxmemory-policy noeviction, and in redis.conf; a cache that must evict belongs on "
          "another server."},
    entry{"memory-headroom", promise::live,
          "At maxmemory no new lock is granted. Those that are held are renewed and released all the same.",
          "Raise maxmemory, or take keys away."},
    entry{"persistence", promise::timed,
          "A server that comes back without its data has forgotten the holders, and grants their locks once "
          "more.",
          "CONFIG SET appendonly yes, with appendfsync everysec or always, and in redis.conf"},
    entry{"persistence-failing", promise::timed,
          "The server cannot write its data to disk: after a restart locks are missing, and with "
          "stop-writes-on-bgsave-error it grants none now.",
          "Look into the server's log: a full disk, or a folder that it may not write to."},
    entry{"quarantine", promise::live,
          "A server that was started or promoted a moment ago may have forgotten locks. So it grants none "
          "until the longest lease that it may have forgotten is over.",
          "Wait: it passes by itself."},
    // --- replication
    entry{"replicas", promise::live,
          "Without a replica no server takes over when this one ends: its locks, or its vote in a redlock, "
          "are gone until it is back.",
          "Add a replica and Sentinel, or live with the outage: exclusion does not suffer from it."},
    entry{"replica-lag", promise::timed,
          "A replica that takes over grants the locks once more that it had not received.",
          "Look into the replica's log and its network."},
    entry{"min-replicas", promise::timed,
          "A master that is cut off goes on granting while a replica that took over grants as well. With "
          "min-replicas-to-write it stops when too few replicas have reported within min-replicas-max-lag.",
          "CONFIG SET min-replicas-to-write 1 and min-replicas-max-lag 10, and in redis.conf"},
    // --- clocks
    entry{"clock-offset", promise::timed,
          "An offset alone does no harm: leases are measured and not compared. But a person or program may "
          "set the clock right, and a step of the server's clock within a lease ends it early or late.",
          "Keep both clocks with NTP (chrony), and let it slew and not step."},
    // --- the connection
    entry{"plaintext", promise::none,
          "Anyone on the network can read the password, and acquire and release locks.",
          "Use rediss:// (TLS), or a network of your own."},
    entry{"no-password", promise::none, "Anyone who reaches the server can acquire and release locks.",
          "Give the server users with passwords: ACL SETUSER, or requirepass."},
    entry{"tls-version", promise::none, "The version of TLS that secures the connection.",
          "Renew OpenSSL on the older side."},
    entry{
        "tls-server-certificate", promise::live,
        "From the day it ends no client can connect, and a client that loses its connection loses its locks.",
        "Renew the server's certificate: CONFIG SET tls-cert-file to the new one takes it without a "
        "restart."},
    entry{"tls-client-certificate", promise::live,
          "From the day it ends the server does not accept this client any more.",
          "Renew the certificate that the URL's option cert names."},
    // --- rights
    entry{"rights", promise::live, "The rights of the user of the URL on the server.", ""},
    entry{"missing-command", promise::live, "Without it locks are refused, or waiters have to poll.", ""},
    entry{"missing-key", promise::live,
          "Without it locks are refused, or lack what makes them better: a queue, a note of when a server "
          "was promoted.",
          ""},
    entry{"missing-channel", promise::live,
          "Without it waiters receive no message of a release and have to poll. New users of Redis 7 have no "
          "channels at all.",
          ""},
    entry{"rights-of-other-kinds", promise::none, "They are missing when such a lock is used.", ""},
    entry{"renamed-command", promise::live,
          "The server does not know a command that holdfast needs: it is renamed, or the server is too old.",
          "Take the rename-command out of redis.conf, and take rights away by ACL instead."},
    // --- cluster
    entry{"cluster-client", promise::live,
          "Over redis:// only the locks whose slots this node has can be taken; for others it answers MOVED.",
          "Use redis+cluster://"},
    entry{"cluster-state", promise::live,
          "Locks in slots that no server serves cannot be acquired, renewed or released.",
          "redis-cli --cluster check says what is wrong, redis-cli --cluster fix mends it."},
    entry{"cluster-nodes", promise::live,
          "The locks in the slots of a master that fails wait for its replica to take over.",
          "Bring the nodes back, or take them out with CLUSTER FORGET."},
    entry{"cluster-replicas", promise::live,
          "No server takes over the slots of a master without a replica when it ends.",
          "Add a replica: redis-cli --cluster add-node --cluster-slave"},
    entry{"cluster-views", promise::live,
          "Servers that do not agree on the owners of slots send clients to and fro. Where the network is "
          "cut, both sides grant locks until the smaller one notices (cluster-node-timeout).",
          "Wait, if slots are moving or a failover is under way; else look at the network between the "
          "servers (CLUSTER NODES at each)."},
    entry{
        "cluster-name", promise::live,
        "In a Redis Cluster all keys of a lock must lie in one slot, else every operation on it is refused.",
        "Use a name without braces, or one with a whole {tag}."},
    entry{"cluster-coverage", promise::live,
          "With cluster-require-full-coverage one slot without a server stops the locks in all slots.",
          "CONFIG SET cluster-require-full-coverage no, if locks in other slots shall go on"},
    // --- sentinel
    entry{"sentinel-reach", promise::live,
          "A client asks all sentinels that its URL names, and follows a majority of them.",
          "Bring them back, or take those that are gone for good out of the URL."},
    entry{"sentinel-agreement", promise::timed,
          "Clients that follow another master than the others are granted locks that the others hold.",
          "Wait, if a failover is under way; else look at the sentinels that say otherwise (SENTINEL MASTER "
          "NAME), and SENTINEL RESET what they remember wrongly."},
    entry{"sentinel-list", promise::timed,
          "A majority of those that the URL names must be a majority of all: else a client may follow the "
          "old ones across a cut network.",
          "Name all sentinels in the URL and no others; SENTINEL RESET NAME takes those off their list that "
          "are gone for good."},
    entry{"sentinel-quorum", promise::live,
          "When the master ends, this number of sentinels must agree on it, and more than half of all must "
          "be reachable to replace it.",
          "Three sentinels or five, on machines of their own, with a quorum of more than half (SENTINEL SET "
          "NAME quorum N)"},
    entry{"sentinel-master", promise::live, "The state of the master as the sentinel sees it.",
          "Bring it back, or wait for the failover (SENTINEL FAILOVER NAME)."},
    entry{"sentinel-replicas", promise::live, "A master without replicas cannot be replaced.",
          "Add a replica."},
};

const entry& entry_of(std::string_view id) noexcept {
    const auto* const found =
        std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.id == id; });
    assert(found != entries.end());
    return *found;
}

}  // namespace

std::span<const entry> catalogue() noexcept { return entries; }

void report::unknown(std::string_view id, const std::string& why) {
    add(severity::unknown, id, "could not look: " + why,
        "Examine the server as a user who may ask for it: an administrator's URL, or another right for this "
        "user.");
}

void report::add(severity s, std::string_view id, const std::string& found, std::string mending) {
    const auto& known = entry_of(id);
    if (s == severity::ok) {
        mending.clear();
    } else if (mending.empty()) {
        mending = known.mending;
    }
    findings_.push_back({std::string{id}, s, subject_, base::printable(found), std::string{known.meaning},
                         std::move(mending), known.falls});
}

}  // namespace holdfast::redis_backend::doctor
