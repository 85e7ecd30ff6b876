// Every setting, its default and the reason for it. Checked once, by the client's constructor; a bad
// value is errc::invalid_argument and names its field.
#pragma once

#include <chrono>
#include <string>

namespace holdfast {

struct config {
    using milliseconds = std::chrono::milliseconds;

    // Where the locks live:
    //   redis://[user[:password]@]host[:port][/db][?option=value&...]
    //   rediss://...          the same in TLS 1.2 or later, and never without
    //   redis+cluster://[user[:password]@]host[:port][,host[:port]...][?option=value&...]
    //   rediss+cluster://...  a Redis Cluster: any of its servers, the others are found. Files of TLS options
    //                         are read again for servers whose names are heard of later
    //   unix:///path/to/socket[?db=0&user=...&password=...]
    //   redis+sentinel://[user[:password]@]host[:26379],host.../master-name[/db][?option=value&...]
    //                         whichever server the sentinels name; list all of them: a majority of these must
    //                         answer before a connection is made. The user is the master's
    //   rediss+sentinel://... the same in TLS, to the sentinels and to the master
    //   local:[name]          threads of this process only; clients that give the same name share it
    //   redlock:[option=value,...]URL,URL,URL,...
    //                         whoever has most of 3 to 15 independent servers has the lock; each has a URL of
    //                         a Redis form above. redlock.hpp makes it of a list. Options, which come
    //                         first: node_timeout=50ms, longest_lease=60s, restarts=quarantined|trusted and
    //                         name=..., as redlock_options says. Among the settings below, `connections` is 1
    //                         for each member, and `lease` at most longest_lease
    // Options of all Redis forms: connect_timeout, command_timeout (durations such as 500ms or 2s; a
    // connection that is silent for a command_timeout although it owes an answer is given up).
    // Options of the sentinel forms: sentinel_user, sentinel_password.
    // Options of all Redis forms but clusters, for servers that may have forgotten locks:
    //   restarts       trusted, the default, or quarantined: a server that was started anew grants no lock
    //                  until longest_lease has passed, whether it lost its data or not
    //   failover       best_effort, the default, or grace: neither does one that was promoted, for the
    //                  replica may not have had the latest grants. Brings restarts=quarantined, unless told
    //                  otherwise. Against an old master that lives on and is heard by some, locks need
    //                  `replicas` as well
    //   longest_lease  of all clients, the same everywhere; longer ones are refused. 60s; with grace 1h at
    //                  most
    // Waiters sit that out; a caller that does not wait gets errc::quarantined (docs/safety.md).
    // Option of clusters: sharded=auto|on|off, whether Redisson's kinds of lock are announced on sharded
    //   channels, as Redisson's shardedSubscriptionMode: both sides must say the same. A mutex always is.
    // Options of the forms in TLS, whose files are read once, by the client's constructor:
    //   ca           PEM file with those who may vouch for the server; default: the system's store
    //   cert, key    PEM files with a certificate of the client's own and its key, without a passphrase
    //   server_name  whom to ask for, and what the certificate must be for; default: the host; of sentinels
    //                and masters each one's own, as the sentinels write it
    //   tls_min      1.2, the default, or 1.3
    // The server's certificate is always verified. One that is not accepted, or a server that does not accept
    // ours, is condition::misuse at once: errc::invalid_argument or errc::no_permission.
    std::string url = "redis://127.0.0.1:6379";

    // A lock without a ttl of its own is held this long at a time and renewed while its holder lives.
    // Redisson's lockWatchdogTimeout; a killed holder keeps others out for this long. 10 ms to 24 h.
    milliseconds lease{30'000};

    // Renew when this much of the lease has passed. A third leaves two more tries. 0.05 to 0.8.
    double renew_after = 1.0 / 3;

    // A waiter asks again at least this often, so that a lost message costs no more. 20 ms to 1 min.
    milliseconds poll_gap{1'000};

    // A waiter without messages (wake::poll, or no right to listen) asks this often.
    milliseconds silent_poll{40};

    // How far this machine's clock and the server's may drift apart within one lease; the validity of
    // a lease is shortened by it. The share that Redlock's authors use (1 %), and 2 ms for very short leases.
    double drift = 0.01;
    milliseconds margin{2};

    // A waiter that was answered once goes on through an outage of the store for this long. One that
    // was never answered gives up at once with errc::unavailable.
    milliseconds patience{10'000};

    // A released lock goes to another thread of this client that waits for it on the same terms, until this
    // many threads in a row had it by one grant, or 10 ms have passed since; then others have their turn. A
    // mutex does so without a word to the store, other kinds ask it first. 1: never passed on. 1 to 16.
    unsigned local_turns = 16;

    // A waiter of a fair_mutex that does not ask for this long is taken for dead and loses its place: that
    // is what a killed waiter costs those behind it when its turn comes. 100 ms to 5 min; twice the poll gap
    // if that is more.
    milliseconds fair_liveness{5'000};

    // Connections for commands; a lock's commands all go over the same one. One serves many threads best,
    // since they share its reads and writes; a few serve two to four threads better, which else wait for each
    // other. event_kind::store_down tells when one of them is lost, store_up when all are there. 1 to 64.
    unsigned connections = 1;

    // One answer of the store is waited for this long. 10 ms to 1 min.
    milliseconds answer_timeout{2'000};

    // The client's destructor gives back what is still held and runs the callbacks that are due. It waits for
    // both together at most this long.
    milliseconds close_timeout{200};

    // A callback of the user that runs longer is reported. The callbacks of other losses wait at most this
    // long behind it (lease::lost()); other listeners do not wait at all.
    milliseconds slow_callback{1'000};

    // An operator who evicts a holder ends its lease at once: valid() is false from then on. false: the lock
    // is free at once too, and whoever works under it must look at valid() or lost() before each step. true:
    // it stays taken until the lease is released, or its time is over, for work that needs a moment to stop;
    // the operator is told "gave it up" only then, and may remove the lock before. Of leases only: what a
    // thread holds by lock() is free at once, and so is what this very client evicts.
    bool keep_evicted = false;

    // Shown by CLIENT LIST behind "holdfast:", the client's id, its pid and its host. Empty: the program's
    // name.
    std::string program;
};

}  // namespace holdfast
