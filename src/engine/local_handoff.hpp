// Whether a thread may hand a lock off to the next thread of the same client, without a release and a new
// grant. This saves two round trips, or one where the client asks the store first (store::taken_by_force).
// Hand-offs are bounded, so that other processes get their turn, and only happen while the store's grant is
// fresh, so that the next holder gets nearly the whole lease.
#pragma once

#include "engine/validity.hpp"

#include <holdfast/replication.hpp>
#include <holdfast/types.hpp>

namespace holdfast::engine {

// A grant of the store that several threads may use one after another.
struct shared_grant {
    time_point since;
    time_point deadline_then;  // when granted; renewals move the deadline
    unsigned turns = 1;        // threads that held it, including the present one
};

// The lease that a thread asks for.
struct lease_terms {
    milliseconds lease{};
    bool renewed = false;
    replication replicas{};
    strength at_least = strength::process_local;

    friend bool operator==(const lease_terms&, const lease_terms&) = default;
};

constexpr milliseconds longest_shared_grant{10};

[[nodiscard]] inline bool may_hand_off(const shared_grant& grant, const lease_terms& had,
                                       const lease_terms& wanted, time_point deadline, unsigned most_turns,
                                       time_point now) noexcept {
    const auto whole = grant.deadline_then - grant.since;
    return had == wanted && grant.turns < most_turns && now - grant.since < longest_shared_grant &&
           deadline - now >= whole - whole / 3;
}

}  // namespace holdfast::engine
