// Locks on several independent servers: makes the URL of a redlock from a list.
//
//   redlock:[option=value,...]URL,URL,URL,...
//
// 3 to 15 independent servers, each with a URL of redis_settings.hpp. Options come first: node_timeout=50ms,
// longest_lease=60s, restarts=quarantined|trusted and name=..., as in redlock_options. Each member has one
// connection, and config::lease is at most longest_lease.
#pragma once

#include <holdfast/export.hpp>

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

struct redlock_options {
    // Total time to wait for the replies of all members: much less than a lease, much more than a round trip.
    // A member that takes longer has no vote. 1 ms to 10 s.
    std::chrono::milliseconds node_timeout{50};

    // No lease may be longer. A member that was restarted or promoted has no vote on new grants until this
    // time has passed, for it may have forgotten a lock. Callers that may wait do so; others get
    // errc::quarantined. The same for all clients. 10 ms to 24 h.
    std::chrono::milliseconds longest_lease{60'000};

    enum class restarts {
        quarantined,  // as described above
        trusted,      // the servers lose nothing that they acknowledged: appendonly yes, appendfsync always
    };
    enum restarts restarts = restarts::quarantined;

    // Separates redlocks that share servers and have different members. Letters, digits, "-", "_", ".".
    std::string name{};
};

// Returns the URL for a client whose locks are on all of these servers, each granted by a majority of them:
//
//     holdfast::client locks{holdfast::redlock_url({"redis://a", "redis://b", "redis://c"})};
//     holdfast::mutex nightly{locks, "nightly"};
//
// Give an odd number of 3 to 15 servers, five as a rule, that replicate nothing to each other and fail
// independently; a minority of them may be dead, slow or cut off. Each may be a master behind Sentinel
// (redis+sentinel://); a recently promoted one has no vote, like one that was restarted. All clients must
// name the same servers, in the same words. What a redlock promises and what not: docs/wire/redlock.md. It
// supports mutex, also with .fenced = true (a pause after lease::valid() is as dangerous as with one server,
// and a fence protects from it), and recursive_mutex, which is the same lock as a RedissonRedLock of one
// RLock on each server.
//
// Only checks that no URL is empty; the client's constructor checks the rest.
[[nodiscard]] HOLDFAST_API std::string redlock_url(std::span<const std::string> servers,
                                                   const redlock_options& options = {});
[[nodiscard]] inline std::string redlock_url(const std::vector<std::string>& servers,
                                             const redlock_options& options = {}) {
    return redlock_url(std::span<const std::string>{servers}, options);
}

}  // namespace holdfast
