#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool stale_check(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A takes the lock and works");
    a.enters();
    d.must_be_owned_by(a);
    d.step("A unlocks: it checks whether the key is its own");
    a.run(d.stops_at("after_get") ? "after_get" : "before_unlock");
    d.step("A stands still, and the TTL passes");
    a.pause();
    d.wait_until_gone();
    d.step("B takes the lock");
    b.enters();
    const auto end = d.key_ends();
    d.step("A goes on where it stopped");
    a.resume();
    a.run(point::done);
    return c_gets_in_too(d, b, end);
}

constexpr std::array platinum_schedules{
    schedule{
        .name = "stale_check",
        .flaw = "the key is deleted on a stale answer",
        .play = stale_check,
        .flawed = "platinum",
        .why = "GET said that the key was A's, and it was. When the DEL arrived, it was B's: check and "
               "deletion are two commands, and the owner may change between them.",
        .cure = "diamond",
        .why_cured = "A script compares and deletes, and the server runs nothing else meanwhile.",
        .ours = "holdfast_mutex",
        .why_ours = "Its release is such a script, and also hands the lock off to the first waiter.",
    },
};

}  // namespace

rung platinum_rung() {
    return {"platinum", "a value per owner; GET, compare, DEL",
            "Five schemes of a Redis lock, part 7: platinum", platinum_schedules};
}

}  // namespace holdfast::lab
