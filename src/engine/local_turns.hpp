// Whether a lock that a thread gives back may go to the next thread of the same client, without a release
// and a new grant. Saves two round trips, or one where the store is asked before
// (store::taken_by_force); bounded, so that other processes get their turn, and only while the grant of
// the store is fresh, so that the next holder finds nearly the whole lease.
#pragma once

#include "engine/validity.hpp"

#include <holdfast/replication.hpp>

namespace holdfast::engine {

// A grant of the store, which several threads may use one after another.
struct shared_grant {
    time_point since;
    time_point deadline_then;  // at first; renewals move it
    unsigned turns = 1;        // threads that had it, the present one included
};

// What a thread asks for.
struct lease_terms {
    milliseconds lease{};
    bool renewed = false;
    replication replicas{};

    friend bool operator==(const lease_terms&, const lease_terms&) = default;
};

constexpr milliseconds longest_shared_grant{10};

[[nodiscard]] inline bool may_pass_on(const shared_grant& grant, const lease_terms& had,
                                      const lease_terms& wanted, time_point deadline, unsigned most_turns,
                                      time_point now) noexcept {
    const auto whole = grant.deadline_then - grant.since;
    return had == wanted && grant.turns < most_turns && now - grant.since < longest_shared_grant &&
           deadline - now >= whole - whole / 3;
}

}  // namespace holdfast::engine
