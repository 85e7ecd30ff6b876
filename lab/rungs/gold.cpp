#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool late_delete(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A takes the lock");
    a.enters();
    d.step("A stands still, and the TTL passes");
    a.pause();
    d.wait_until_gone();
    d.step("B takes the lock");
    b.enters();
    const auto end = d.key_ends();
    d.step("A goes on, finishes its work and unlocks");
    a.resume();
    a.run(point::done);
    return c_gets_in_too(d, b, end);
}

constexpr std::array gold_schedules{
    schedule{
        .name = "late_delete",
        .flaw = "a late DEL deletes another client's lock",
        .play = late_delete,
        .flawed = "gold",
        .why = "A's key had expired, and A deletes B's: the value is the same for all. C gets the lock while "
               "B works, and B's DEL will delete C's: one late DEL causes the next.",
        .cure = "platinum",
        .why_cured = "A finds B's value in the key and leaves it alone, so C waits. (A and B still "
                     "overlapped: A worked longer than its TTL. That is the flaw of diamond.)",
        .ours = "holdfast_mutex",
        .why_ours = "A's lease knows its deadline, so it is over before B's can begin. A's release finds "
                    "another owner token and changes nothing.",
    },
};

}  // namespace

rung gold_rung() {
    return {"gold", "SET NX PX with the same value for everybody, DEL",
            "Five schemes of a Redis lock, part 6: gold", gold_schedules};
}

}  // namespace holdfast::lab
