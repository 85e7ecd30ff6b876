// Every setting, its default and the reason for it. The client's constructor checks them once; a bad value is
// errc::invalid_argument, and the message names its field.
#pragma once

#include <chrono>
#include <string>

namespace holdfast {

struct config {
    using milliseconds = std::chrono::milliseconds;

    // Where the locks live:
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
    //   local:[name]          threads of this process only; clients that give the same name share it
    //   redlock:[option=value,...]URL,URL,URL,...
    //                         a majority of 3 to 15 independent servers grants the lock; each has a URL of
    //                         a Redis form above. redlock.hpp builds this URL from a list. Options, which
    //                         come first: node_timeout=50ms, longest_lease=60s, restarts=quarantined|trusted
    //                         and name=..., as in redlock_options. In the settings below, `connections` is 1
    //                         for each member, and `lease` is at most longest_lease
    // Options of all Redis forms: connect_timeout, command_timeout (durations such as 500ms or 2s; a
    // connection that owes an answer and is silent for command_timeout is closed).
    // Options of the sentinel forms: sentinel_user, sentinel_password.
    // Options of all Redis forms but clusters, for servers that may have forgotten locks:
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
    // Options of the TLS forms, whose files are read once, by the client's constructor:
    //   ca           PEM file with the authorities that may sign the server's certificate; default: the
    //                system's store
    //   cert, key    PEM files with the client's own certificate and its key, without a passphrase
    //   server_name  the name to request, which the certificate must match; default: the host; for sentinels
    //                and masters each server's own name, as the sentinels write it
    //   tls_min      1.2, the default, or 1.3
    // The server's certificate is always verified. If either side rejects the other's certificate, that is
    // condition::misuse at once: errc::invalid_argument or errc::no_permission.
    std::string url = "redis://127.0.0.1:6379";

    // A lock without a ttl of its own is held this long at a time and renewed while its holder lives. The
    // same as Redisson's lockWatchdogTimeout. A killed holder keeps others out for this long. 10 ms to 24 h.
    milliseconds lease{30'000};

    // Renew when this share of the lease has passed. A third leaves two more tries. 0.05 to 0.8.
    double renew_after = 1.0 / 3;

    // A waiter polls at least this often, so a lost message costs no more. 20 ms to 1 min.
    milliseconds poll_gap{1'000};

    // The poll interval of a waiter without messages (wake::poll, or no right to subscribe).
    milliseconds silent_poll{40};

    // How far this machine's clock and the server's may drift apart within one lease; the validity of a lease
    // is shortened by it. 1 % is the share that Redlock's authors use; 2 ms is for very short leases.
    double drift = 0.01;
    milliseconds margin{2};

    // A waiter that was answered once waits through an outage of the store for this long. A waiter that was
    // never answered fails at once with errc::unavailable.
    milliseconds patience{10'000};

    // A released lock passes to another thread of this client that waits for it with the same options, until
    // this many threads in a row have held it by one grant, or 10 ms have passed; then other clients have
    // their turn. A mutex is handed off without a command to the store; other kinds ask it first. 1: no
    // hand-off. 1 to 16.
    unsigned local_turns = 16;

    // A waiter of a fair_mutex that does not poll for this long counts as dead and loses its place. A killed
    // waiter delays those behind it by this time when its turn comes. 100 ms to 5 min; at least twice the
    // poll gap.
    milliseconds fair_liveness{5'000};

    // Connections for commands; all commands of a lock use the same one. One serves many threads best, since
    // they share its reads and writes; a few are better for two to four threads, which would otherwise wait
    // for each other. event_kind::store_down reports the loss of one connection, store_up that all are there.
    // 1 to 64.
    unsigned connections = 1;

    // How long to wait for one answer of the store. 10 ms to 1 min.
    milliseconds answer_timeout{2'000};

    // The client's destructor releases the locks that are still held and runs the callbacks that are due.
    // Both together take at most this long.
    milliseconds close_timeout{200};

    // A user callback that runs longer is reported. Callbacks of other lost leases wait at most this long
    // behind it (lease::lost_token()); other listeners do not wait at all.
    milliseconds slow_callback{1'000};

    // Evicting a holder ends its lease at once: valid() is false from then on. false: the lock is free at
    // once, too, so the holder must check valid() or lost_token() before each step. true: the lock stays
    // taken until the lease is released or expires, for work that needs a moment to stop; only then does the
    // operator see "gave it up", and the operator may remove the lock before. Applies to leases only: a lock
    // held by lock() is free at once, and so is one that this very client evicts.
    bool keep_evicted = false;

    // Shown by CLIENT LIST behind "holdfast:", the client's id, its pid and its host. Empty: the program's
    // name.
    std::string program;
};

}  // namespace holdfast
