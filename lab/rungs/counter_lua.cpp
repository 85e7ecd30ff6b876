#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool colon(director& d) {
    auto& a = d.start("A", {.owner = "10.0.0.7:41"});
    d.step("A takes the lock; it calls itself 10.0.0.7:41, its address and its thread");
    a.enters();
    const auto end = d.key_ends();
    d.step("A has done its work and unlocks");
    a.run(point::done);
    d.must_be_before(end);
    d.step("B wants the lock");
    auto& b = d.start("B");
    const bool in = b.gets_in();
    d.must_be_before(end);
    return !in;
}

bool lost_ttl(director& d) {
    auto& a = d.start("A", {.nested = true});
    d.step("A takes the lock, and takes it again");
    a.run(point::nested);
    d.must_be_owned_by(a);
    d.step("An administrator withdraws the right to EXPIRE, and A releases one of its two holds");
    d.forbid({"expire", "pexpire"});
    a.run(point::done);
    d.step("The administrator sees the mistake, and gives the right back");
    d.allow_all();
    return b_starves(d);
}

constexpr std::array counter_lua_schedules{
    schedule{
        .name = "colon",
        .flaw = "an owner with a colon in its name cannot unlock",
        .play = colon,
        .flawed = "counter_lua",
        .why = "The value is 10.0.0.7:41:1, and the script takes for the owner what stands before the "
               "first colon. That is nobody: A can neither take its lock again nor give it back, and is "
               "not told so.",
        .cure = "redisson",
        .why_cured = "Owner and count are a field and its value in a hash; nothing is cut out of a text.",
        .ours = "holdfast_recursive",
        .why_ours = "The same hash.",
    },
    schedule{
        .name = "lost_ttl",
        .flaw = "a script that fails between SET and EXPIRE leaves the key for ever",
        .play = lost_ttl,
        .flawed = "counter_lua",
        .why = "SET takes the TTL away, and EXPIRE is to give it back. A script runs alone, but it undoes "
               "nothing: what came before the command that failed stays done.",
        .cure = "redisson",
        .why_cured = "HINCRBY changes the count and leaves the TTL alone. The script fails here as well, and "
                     "the key still expires.",
        .ours = "holdfast_recursive",
        .why_ours = "No script takes a TTL away. If renewing is refused, the lease ends at its time and its "
                    "holder is told.",
    },
};

}  // namespace

rung counter_lua_rung() {
    return {"counter_lua", "re-entrant: the value is owner:count, in Lua scripts",
            "A practical guide to Redis locks: optimised with Lua", counter_lua_schedules};
}

}  // namespace holdfast::lab
