// How many replicas of the store must have a lease before the lease counts.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace holdfast {

// For stores with asynchronous replicas: when a master dies, the grants that no replica has are lost. With
// `at_least`, a grant counts only when at least this many replicas have confirmed it (Redis' WAIT; one more
// round trip and that of the replicas); so does each renewal. If too few confirm within the time, the grant
// is undone, and the acquisition ends with errc::not_replicated; a renewal counts as unanswered.
//
// This is no consensus: a replica that did not confirm may still be promoted, unless all must confirm
// (docs/safety.md, failover).
struct replication {
    std::uint32_t at_least = 0;            // 0: does not wait for replicas
    std::chrono::milliseconds within{50};  // 1 ms or more; less than a third of the lease

    // More than half of `nodes`, including the master: 1 of 2, 1 of 3, 2 of 5.
    [[nodiscard]] static constexpr replication majority_of(std::uint32_t nodes) { return {nodes / 2}; }

    friend bool operator==(const replication&, const replication&) = default;
    friend auto operator<=>(const replication&, const replication&) = default;
};

}  // namespace holdfast
