// A schedule played on one scheme, and whether it went as predicted.
#pragma once

#include "lab/play/director.hpp"
#include "lab/play/record.hpp"
#include "lab/rungs/rung.hpp"

#include <string>
#include <vector>

namespace holdfast::lab {

// Why a scheme plays the schedule.
enum class role {
    flawed,  // the flaw must be seen
    cure,    // it must not
    // It must not, and no two processes may both believe they hold the lock, unless the schedule says so.
    ours,
    joint,  // the same
    any,    // the user asked for it: nothing is predicted
};

struct outcome {
    std::string scheme;
    role as = role::flawed;
    bool flaw_seen = false;
    record seen;
    bool may_overlap = false;
    std::string broken{};  // why the schedule did not finish; it proves nothing then

    [[nodiscard]] bool as_predicted() const;
};

// Plays it once; a machine that is too slow for the TTL plays it again with longer ones, also when it shows a
// flaw of a scheme that has none: what remains with every TTL is one. Throws interrupted and no_server; any
// other failure is reported in `broken`.
[[nodiscard]] outcome play(const schedule& what, const std::string& scheme, role as,
                           const surroundings& around);

struct casting {
    std::string scheme;
    role as = role::flawed;
};
// The cast: the scheme with the flaw, its cure if there is one, and holdfast, with two stores as well if that
// adds something.
[[nodiscard]] std::vector<casting> cast_of(const schedule& what);

}  // namespace holdfast::lab
