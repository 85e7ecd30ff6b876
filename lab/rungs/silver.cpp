#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool crash_before_expire(director& d) {
    auto& a = d.start("A");
    d.step("A takes the key");
    a.run("before_expire");
    d.step("A crashes right then");
    a.kill();
    return b_starves(d);
}

bool cut_before_expire(director& d) {
    auto& a = d.start("A");
    d.step("A takes the key");
    a.run("before_expire");
    d.step("The connection of A is cut, and A goes on");
    d.cut_connections();
    a.run(point::done);
    return b_starves(d);
}

constexpr std::array silver_schedules{
    schedule{
        .name = "crash",
        .flaw = "a crash between SETNX and EXPIRE leaves the key for ever",
        .play = crash_before_expire,
        .flawed = "silver",
        .why = "Two commands are two moments, and A died between them: the key exists, and its TTL was "
               "never set.",
        .cure = "gold",
        .why_cured =
            "SET NX PX takes the key and gives it its TTL in one command; there is no moment between.",
        .ours = "holdfast_mutex",
        .why_ours = "It uses the same single command.",
    },
    schedule{
        .name = "cut",
        .flaw = "a connection that breaks between SETNX and EXPIRE leaves the key for ever",
        .play = cut_before_expire,
        .flawed = "silver",
        .why = "A lives, but EXPIRE fails, and the exception skips the DEL too. No crash is needed; a "
               "network glitch is enough.",
        .cure = "gold",
        .why_cured = "The key had its TTL from the first moment. DEL fails on the dead connection, and the "
                     "TTL does its work.",
        .ours = "holdfast_mutex",
        .why_ours = "It reconnects, renews and releases the lock; if it cannot, the TTL does.",
    },
};

}  // namespace

rung silver_rung() {
    return {"silver", "SETNX, then EXPIRE as a second command",
            "Five schemes of a Redis lock, part 5: silver", silver_schedules};
}

}  // namespace holdfast::lab
