// How to reach one Redis server, and how long to wait for it.
#pragma once

#include "redis/protocol/size_caps.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::io {
class tls_context;
}

namespace holdfast::redis {

using std::chrono::milliseconds;

// Pauses between attempts to connect: uniform in [0, ceiling]; the ceiling doubles from `first` to `most`.
// Full jitter, because after a restart all clients of the server reconnect at the same moment.
struct backoff_config {
    milliseconds first{10};   // a restarted server without data to load is back within milliseconds
    milliseconds most{1000};  // a waiter's poll interval: longer would be noticed, shorter is no use
    // After a wrong password or database: the configuration must be fixed first, and servers log each try.
    milliseconds refused{2000};
};

class endpoint_source;

struct host_port {
    std::string host;
    std::uint16_t port = 0;

    friend bool operator==(const host_port&, const host_port&) = default;
};

// The sentinels that we ask for the master's address.
struct sentinel_config {
    std::vector<host_port> at;  // all sentinels: a majority of these must answer
    std::string master;         // the name by which they know it
    std::string user;           // as below, but for the sentinels
    std::string password;
};

struct login {
    std::string user;
    std::string password;
};

// An aggregate: set what differs from the defaults. parse_url checks it; a node does not.
struct node_config {
    std::string host = "127.0.0.1";  // the usual place for a first try; names resolve to IPv6 and IPv4
    std::uint16_t port = 6379;       // the registered port of Redis
    std::string unix_path;           // not empty: a unix-domain socket; host and port are not used

    // If set, sentinels give the master's address; host, port and unix_path are not used.
    std::optional<sentinel_config> sentinels;
    // Asked for the address before each connection is made, on the reactor thread; null: host and port are
    // the address. A node makes one from `sentinels`.
    std::shared_ptr<endpoint_source> source;
    bool master_only = false;  // refuse a server that reports itself as a replica
    bool sentinel = false;     // the server is a sentinel; if false, a sentinel is refused

    std::shared_ptr<const io::tls_context> tls;  // null: plaintext; shared by all connections
    // For several hosts: the certificate of each must be for its host, not for the name in `tls`.
    bool tls_checks_host = false;

    std::string user;      // empty: AUTH with the password alone, which all server versions know
    std::string password;  // empty: no AUTH
    // Gives both for each connection, in place of the two above; empty: they count. May throw.
    std::function<login(const std::string& address)> ask_login;
    int db = 0;  // 0: no SELECT is sent; a cluster has only this one

    unsigned connections = 1;  // for commands; those on one key share a connection

    std::string client_name;  // shown by CLIENT LIST; empty: none

    milliseconds connect_timeout{2000};  // resolve, connect and handshake together; well below a usual lease
    // A connection is dead if a command has no answer for this time. Above the longest pause of a
    // healthy server (fork for a snapshot, a slow script), well below a usual lease of 30 s.
    milliseconds command_timeout{2000};

    backoff_config backoff;
    size_caps caps;
};

// For people: "127.0.0.1:6379", "[::1]:6379", "unix:/run/redis.sock" or, with sentinels, the master "its
// name"; never the password.
[[nodiscard]] std::string address_text(const node_config&);
[[nodiscard]] std::string address_text(const host_port&);

// The same configuration for the address that a source has given.
[[nodiscard]] node_config config_at(node_config, const host_port&);

}  // namespace holdfast::redis
