// A lock on several independent servers: the URL of one, made of a list.
#pragma once

#include <holdfast/export.hpp>

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

struct redlock_options {
    // So long the answers of all members are waited for, together: much less than a lease, much more than a
    // round trip. A member that takes longer has no vote. 1 ms to 10 s.
    std::chrono::milliseconds node_timeout{50};

    // No lease may be longer; a member that was started anew or promoted has no vote on new grants
    // until that much time has passed since then, for it may have forgotten a lock. Callers that may wait do
    // so; others get errc::quarantined. The same for all clients. 10 ms to 24 h.
    std::chrono::milliseconds longest_lease{60'000};

    enum class restarts {
        quarantined,  // as said above
        trusted,      // the servers lose nothing that they acknowledged: appendonly yes, appendfsync always
    };
    enum restarts restarts = restarts::quarantined;

    // Tells redlocks apart that share servers and have different members. Letters, digits, "-", "_", ".".
    std::string name{};
};

// The URL for a client whose locks are on all of these servers and belong to whoever has them on most of
// them:
//
//     holdfast::client locks{holdfast::redlock_url({"redis://a", "redis://b", "redis://c"})};
//     holdfast::mutex nightly{locks, "nightly"};
//
// An odd number of 3 to 15 servers, five as a rule, that replicate nothing to each other and fail one by one;
// a minority of them may be dead, slow or cut off. Each may be a master behind Sentinel (redis+sentinel://);
// one that was promoted lately has no vote, like one that was started anew. All clients must name the same
// ones, in the same words. What it promises and what not: docs/wire/redlock.md. To be had there are mutex,
// also with .fenced = true (a pause behind lease::valid() is no less dangerous than with one server, and a
// fence is the answer to it), and recursive_mutex, which is the same lock as a RedissonRedLock of one RLock
// on each server.
//
// Checks nothing but that no URL is empty; the client's constructor does.
[[nodiscard]] HOLDFAST_API std::string redlock_url(std::span<const std::string> servers,
                                                   const redlock_options& options = {});
[[nodiscard]] inline std::string redlock_url(const std::vector<std::string>& servers,
                                             const redlock_options& options = {}) {
    return redlock_url(std::span<const std::string>{servers}, options);
}

}  // namespace holdfast
