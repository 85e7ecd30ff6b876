// A schedule played on one scheme, and whether it went as predicted.
#pragma once

#include "lab/director.hpp"
#include "lab/record.hpp"
#include "lab/rung.hpp"

#include <string>
#include <vector>

namespace holdfast::lab {

// Why a scheme plays the schedule.
enum class role {
    flawed,  // the flaw must be seen
    cure,    // it must not
    ours,  // it must not, and no two processes may believe to hold the lock at once (unless the schedule says
           // so)
    any,   // somebody wanted to see it: nothing is predicted
};

struct outcome {
    std::string scheme;
    role as = role::flawed;
    bool flaw_seen = false;
    record seen;
    bool may_overlap = false;
    std::string broken{};  // why the schedule did not come to its end; nothing is shown then

    [[nodiscard]] bool as_predicted() const;
};

// Plays it once. A machine that is too slow for the TTL gets longer ones. Throws stage::interrupted and
// stage::no_server; whatever else goes wrong is told as `broken`.
[[nodiscard]] outcome play(const schedule& what, const std::string& scheme, role as,
                           const surroundings& around);

struct casting {
    std::string scheme;
    role as = role::flawed;
};
// The cast: the scheme with the flaw, its cure if there is one, and holdfast.
[[nodiscard]] std::vector<casting> cast_of(const schedule& what);

}  // namespace holdfast::lab
