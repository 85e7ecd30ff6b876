// Every setting, its default and the reason for it. The client's constructor checks them once; a bad value is
// errc::invalid_argument, and the message names its field.
#pragma once

#include <holdfast/lock_family.hpp>
#include <holdfast/policy.hpp>
#include <holdfast/redis_settings.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace holdfast {

struct config {
    using milliseconds = std::chrono::milliseconds;

    // Where the locks live. Each store has options of its own, written behind `?` as option=value&...:
    //   redis://, rediss://, unix://, redis+sentinel://, redis+cluster://   see redis_settings.hpp
    //   redlock:URL,URL,URL   a majority of several independent servers; see redlock.hpp
    //   file:DIR, sqlite:PATH processes of this machine, in files; see docs/stores/
    //   postgres://           a table in PostgreSQL; see docs/stores/postgres.md
    //   mysql://, mariadb://  a table in MariaDB; see docs/stores/mariadb.md
    //   zk://h1,h2,h3/chroot  a ZooKeeper ensemble; zks:// in TLS; see docs/stores/zookeeper.md
    //   local:[name]          threads of this process only; clients that give the same name share it
    std::string url = "redis://127.0.0.1:6379";

    // A lock without a ttl of its own is held this long at a time and renewed while its holder lives. The
    // same as Redisson's lockWatchdogTimeout. A killed holder keeps others out for this long. 10 ms to 24 h.
    milliseconds lease{30'000};

    // Renew when this share of the lease has passed. A third leaves two more tries. 0.05 to 0.8.
    double renew_after = 1.0 / 3;

    // A waiter polls at least this often, so a lost message costs no more. 20 ms to 1 min.
    milliseconds poll_gap{1'000};

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

    // How long to wait for one answer of the store. 10 ms to 1 min.
    milliseconds answer_timeout{2'000};

    // The client's destructor releases the locks that are still held, runs the callbacks that are due, and
    // ends the client's session in ZooKeeper. All of it together takes at most this long.
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

    // What locks do while the store is away, by policy: see policy.hpp. A lock has the policy that it names,
    // or the one whose pattern matches its name, or fails closed. If two match, the lock must name one.
    std::vector<policy> policies{};

    // What a configuration centre says about the store; empty: nothing. While it says so, locks whose policy
    // fails open do without the store, although it may be there. docs/fallback.md has its form.
    //   file:PATH             a file; the client's constructor reads it
    //   nacos://[user:password@]host[:8848][,host...]/namespace/group/dataId[?long_poll=30s&path=/nacos]
    //                         a configuration in Nacos 2.2 or later, on a thread of its own. The constructor
    //                         waits for a first answer, for answer_timeout at most. Without a user in the
    //                         URL: HOLDFAST_NACOS_USER and HOLDFAST_NACOS_PASSWORD in the environment
    //   nacos+https://...     the same in TLS, which verifies the server; ca=FILE: PEM file with authorities
    //   arbiter:[name=NAME,]URL  a document in zk://, postgres://, mariadb://, sqlite: or file:, read every
    //                         five seconds; `holdfast switch publish` writes it
    std::string switch_source{};
    // The group of the document whose mode counts for this client.
    std::string switch_group = "default";

    // By which groups of locks metrics are counted (metrics.hpp); at most 32. Empty: all locks together.
    std::vector<lock_family> families{};

    // "127.0.0.1:9464": the client answers GET /metrics there with metrics_text(), on a thread of its own,
    // for programs without a web server. Port 0: the system chooses (metrics_address). [::1]:9464 is IPv6,
    // and 0.0.0.0 stands for all addresses of the machine; whoever reaches the port can read the metrics.
    // Needs libmicrohttpd, which is opened then. Empty: it does not listen.
    std::string metrics_listen{};

    // Settings that only Redis has.
    redis_settings redis{};

    // Shown by CLIENT LIST behind "holdfast:", the client's id, its pid and its host. Empty: the program's
    // name.
    std::string program;
};

}  // namespace holdfast
