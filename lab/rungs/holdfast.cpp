#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

constexpr std::array holdfast_schedules{
    schedule{
        .name = "pause_after_check",
        .flaw = "a write that was checked in time arrives too late",
        .play = a_writes_after_its_check,
        .flawed = "holdfast_mutex",
        .why = "No two leases were valid at once, and still A's write replaces B's: no lock can see what "
               "happens between its check and the write. This is true of every lock, ours too.",
        .cure = "holdfast_fenced",
        .why_cured =
            "The fence grows with every grant, and the resource remembers the highest. It refuses A's write.",
        .ours = "holdfast_fenced",
        .why_ours = "",
    },
};

}  // namespace

rung holdfast_rung() {
    return {"holdfast", "leases that know their end; a fence for what no lock can see", "this project",
            holdfast_schedules};
}

}  // namespace holdfast::lab
