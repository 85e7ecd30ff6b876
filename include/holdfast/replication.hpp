// How many replicas of the store must have a lease before it counts.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace holdfast {

// For stores with replicas that copy behind the master's back: a master that dies takes grants with it that
// no replica had. With `at_least` a grant counts only when so many replicas have confirmed that they have it
// (Redis' WAIT, one more round trip and that of the replicas), and so does each renewal. Too few within the
// time: the grant is taken back, and the acquisition ends with errc::not_replicated; a renewal is as if
// unanswered.
//
// It is no consensus: a replica that did not confirm may still be promoted, unless all of them have to
// (docs/safety.md, failover).
struct replication {
    std::uint32_t at_least = 0;            // 0: none is waited for
    std::chrono::milliseconds within{50};  // 1 ms or more; less than a third of the lease

    // More than half of `nodes`, the master being one: 1 of 2, 1 of 3, 2 of 5.
    [[nodiscard]] static constexpr replication majority_of(std::uint32_t nodes) { return {nodes / 2}; }

    friend bool operator==(const replication&, const replication&) = default;
    friend auto operator<=>(const replication&, const replication&) = default;
};

}  // namespace holdfast
