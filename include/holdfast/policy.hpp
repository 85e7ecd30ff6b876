// What a lock does while its store cannot be reached: a policy, chosen for the lock by name, or by a pattern
// that its name matches.
//
//     holdfast::config how;
//     how.policies = {{.name = "stock", .match = "stock:*", .outage = on_outage::fail_open_process}};
//     client locks{how};
//     mutex item{locks, "stock:42"};
//     auto held = item.acquire();       // while Redis is away: held.strength() is process_local
//
// With two processes that cannot reach each other, "available" and "exclusive" exclude each other. A lock
// that fails open lets a second holder in while the store is away, so what it protects needs a guard of its
// own, always: a version column, a unique key, a fence. See docs/fallback.md.
#pragma once

#include <holdfast/export.hpp>

#include <chrono>
#include <string>

namespace holdfast {

enum class on_outage {
    // Nobody gets the lock: errc::unavailable. After three failures in a row a call that does not wait gets
    // it at once, without asking the store (it is asked again after 5 s, then 10 s, up to a minute, or as
    // soon
    // as there is a connection); without a policy it waits for config::answer_timeout. Calls that wait go on
    // waiting.
    fail_closed,
    // The group of clients changes to another store. For a joint: URL only, and the same as having no policy
    // there: it says what a configuration relies on.
    switch_joint,
    // A lock of this machine (of this process) is taken always, and the store's on top of it. An outage only
    // waives the store: the lease then excludes only processes of this machine (threads of this process), and
    // lease::strength() says so.
    fail_open_host,
    fail_open_process,
};

// The settings of a policy, an element of config::policies.
//
// Only an outage opens a lock: no connection, no answer, or a server that is loading, read-only or out of
// memory. If others hold the lock, the store's answer counts, as it does if a right is missing or if the key
// is no lock. What an unanswered request was granted after all is released as soon as the store answers.
struct policy {
    std::string name;     // 1 to 64 letters, digits, "_", "-" and "."
    std::string match{};  // a pattern ("*" and "?") of the locks that have it without naming it; empty: none
    on_outage outage = on_outage::fail_closed;
    // The store counts as away after so many attempts in a row, with a pause between two of them, or when the
    // time for an answer is up (config::answer_timeout). 1 to 100; 0 ms to 10 s.
    unsigned tries = 3;
    std::chrono::milliseconds pause{100};
    // The store is back, and another client has the lock: true ends the lease that was granted without the
    // store. False reports it (event_kind::overlap), and the lease goes on.
    bool lost_on_overlap = false;
    // For fail_open_host: the URL of the machine's own locks, "file:DIR" or "sqlite:PATH", the same for all
    // processes that are to exclude each other. Empty: file:/run/lock/holdfast-UID, for those of this user.
    std::string substitute{};
};

// The URL of the machine's own locks.
[[nodiscard]] HOLDFAST_API std::string substitute_of(const policy& how);

}  // namespace holdfast
