// How to reach one Redis server, and how long to wait for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::io {
class tls_context;
}

namespace holdfast::redis {

using std::chrono::milliseconds;

// Pauses between attempts to connect: uniform in [0, ceiling], the ceiling doubling from `first` to `most`.
// Full jitter, because after a restart every client of the server comes at the same moment.
struct backoff_config {
    milliseconds first{10};   // a restarted server is back within milliseconds when nothing must be loaded
    milliseconds most{1000};  // a waiter's poll gap: longer would be felt, shorter helps nobody
    // After a wrong password or database: somebody must mend the configuration first, and servers log each
    // try.
    milliseconds refused{2000};
};

// What a broken or hostile server may make us hold in memory.
struct size_caps {
    std::size_t bulk_bytes = std::size_t{64} << 20;  // one string of a reply; our own are below 1 KiB
    std::size_t elements = std::size_t{1} << 20;     // of one reply, all its arrays together
    std::size_t queued_bytes = std::size_t{64}
                               << 20;  // commands that wait for a connection or for the socket
};

class endpoint_source;

struct host_port {
    std::string host;
    std::uint16_t port = 0;

    friend bool operator==(const host_port&, const host_port&) = default;
};

// The sentinels, which are asked where the master is.
struct sentinel_config {
    std::vector<host_port> at;  // all that there are: a majority of these must answer
    std::string master;         // the name that they know it by
    std::string user;           // as below, but theirs
    std::string password;
};

// A server that may have forgotten locks grants none until the longest lease is over.
struct quarantine_config {
    bool after_restart = false;   // as after one without its data
    bool after_failover = false;  // a replica may not have had them when it was promoted
    milliseconds longest_lease{60'000};

    [[nodiscard]] bool wanted() const noexcept { return after_restart || after_failover; }
};

// An aggregate: name what differs, keep the rest. Checked by `parse_url`; a node believes what it is given.
struct node_config {
    std::string host = "127.0.0.1";  // where a first try runs a server; names resolve to IPv6 and IPv4
    std::uint16_t port = 6379;       // Redis' registered port
    std::string unix_path;           // not empty: a unix-domain socket, and host and port are not used

    // Set: they tell where the master is; host, port and unix_path are not used.
    std::optional<sentinel_config> sentinels;
    // Asked before each connection is made, on the reactor thread; null: it is host and port. A node makes
    // one from `sentinels`.
    std::shared_ptr<endpoint_source> source;
    bool master_only = false;  // a server that says of itself that it is a replica is no server for us
    bool sentinel = false;     // it is one; where it is not to be, one is refused

    std::shared_ptr<const io::tls_context> tls;  // null: plaintext. Shared by all connections
    // Where there are several hosts: each one's certificate must be for its host, and not for the name in
    // `tls`.
    bool tls_checks_host = false;

    std::string user;      // empty: AUTH with the password alone, which every server version knows
    std::string password;  // empty: no AUTH
    int db = 0;            // 0: no SELECT is sent, and it is the only one a cluster has

    unsigned connections = 1;  // for commands; those that name one key go over the same

    std::string client_name;  // shown by CLIENT LIST; empty: none

    milliseconds connect_timeout{2000};  // resolve, connect and handshake together; well below a usual lease
    // A command without an answer for this long means a dead connection. Above the longest pause of a
    // healthy server (fork for a snapshot, a slow script), well below a usual lease of 30 s.
    milliseconds command_timeout{2000};

    backoff_config backoff;
    size_caps caps;

    quarantine_config quarantine;  // of servers; a node leaves that to its owner
};

// For people: "127.0.0.1:6379", "[::1]:6379", "unix:/run/redis.sock" or, where the sentinels know,
// the master "its name"; never the password.
[[nodiscard]] std::string address_text(const node_config&);
[[nodiscard]] std::string address_text(const host_port&);

// The same with a place that became known.
[[nodiscard]] node_config config_at(node_config, const host_port&);

}  // namespace holdfast::redis
