// What only Redis has: the forms and options of its URLs, and settings of its client.
//
// The URLs of Redis and Valkey (config::url):
//   redis://[user[:password]@]host[:port][/db][?option=value&...]
//   rediss://...          the same over TLS 1.2 or later, never without TLS
//   redis+cluster://[user[:password]@]host[:port][,host[:port]...][?option=value&...]
//   rediss+cluster://...  a Redis Cluster: name any of its servers, the others are found. Files of TLS
//                         options are read again for servers that are discovered later
//   unix:///path/to/socket[?db=0&user=...&password=...]
//   redis+sentinel://[user[:password]@]host[:26379],host.../master-name[/db][?option=value&...]
//                         the server that the sentinels name. List all sentinels: a majority of these
//                         must answer before the client connects. The user is the master's
//   rediss+sentinel://... the same over TLS, to the sentinels and to the master
// Options of all forms: connect_timeout, command_timeout (durations such as 500ms or 2s; a
// connection that owes an answer and is silent for command_timeout is closed).
// Options of the sentinel forms: sentinel_user, sentinel_password.
// Options of all forms but clusters, for servers that may have forgotten locks:
//   restarts       trusted, the default, or quarantined: a server that was restarted grants no lock until
//                  longest_lease has passed, whether it lost its data or not
//   failover       best_effort, the default, or grace: a promoted server grants no lock either, for the
//                  replica may lack the latest grants. Implies restarts=quarantined unless `restarts`
//                  is given. Against an old master that some clients still reach, locks need
//                  `replicas` as well
//   longest_lease  the longest lease of any client, the same for all; longer leases are refused. 60s;
//                  with grace 1h at most
// Waiters wait until the quarantine is over; a caller that does not wait gets errc::quarantined
// (docs/safety.md).
// Option of clusters: sharded=auto|on|off, whether Redisson's kinds of lock are announced on sharded
//   channels, as Redisson's shardedSubscriptionMode: both sides must agree. A mutex always is.
// Options of the TLS forms. The client's constructor reads the files; a new connection reads those that have
// changed since, and goes on with the old ones while the new ones cannot be used:
//   ca           PEM file with the authorities that may sign the server's certificate; default: the
//                system's store
//   cert, key    PEM files with the client's own certificate and its key, without a passphrase
//   server_name  the name to request, which the certificate must match; default: the host; for sentinels
//                and masters each server's own name, as the sentinels write it
//   tls_min      1.2, the default, or 1.3
// The server's certificate is always verified. If either side rejects the other's certificate, that is
// condition::misuse at once: errc::invalid_argument or errc::no_permission.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace holdfast {

struct redis_credentials {
    std::string user;      // empty: the server's default user
    std::string password;  // empty: do not log in
};

struct redis_settings {
    using milliseconds = std::chrono::milliseconds;

    // Asked for the user and the password of each new connection to `server` ("host:port"), instead of those
    // in the URL: for passwords that change, and tokens that expire. Sentinels keep those of the URL. Runs on
    // a thread of the client's or in its constructor, for several connections at once: it must be thread-safe
    // and return at once. If it throws, the connection fails with its text, and is tried again.
    std::function<redis_credentials(const std::string& server)> credentials{};

    // Connections for commands; all commands of a lock use the same one. One serves many threads best, since
    // they share its reads and writes; a few are better for two to four threads, which would otherwise wait
    // for each other. event_kind::store_down reports the loss of one connection, store_up that all are there.
    // 1 to 64.
    unsigned connections = 1;

    // The poll interval of a waiter without messages (wake::poll, or no right to subscribe).
    milliseconds silent_poll{40};

    // A waiter of a fair_mutex that does not poll for this long counts as dead and loses its place. A killed
    // waiter delays those behind it by this time when its turn comes. 100 ms to 5 min; at least twice the
    // poll gap.
    milliseconds fair_liveness{5'000};
};

}  // namespace holdfast
