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
    d.step("The administrator sees the mistake, and restores the right");
    d.allow_all();
    return b_starves(d);
}

constexpr std::array counter_lua_schedules{
    schedule{
        .name = "colon",
        .flaw = "an owner with a colon in its name cannot unlock",
        .play = colon,
        .flawed = "counter_lua",
        .why = "The value is 10.0.0.7:41:1, and the script takes the part before the first colon as the "
               "owner. Nobody has that name: A can neither relock nor release, and gets no error.",
        .cure = "redisson",
        .why_cured = "Owner and count are a field and its value in a hash, so no text is parsed.",
        .ours = "holdfast_recursive",
        .why_ours = "The same hash.",
    },
    schedule{
        .name = "lost_ttl",
        .flaw = "a script that fails between SET and EXPIRE leaves the key for ever",
        .play = lost_ttl,
        .flawed = "counter_lua",
        .why = "SET removes the TTL, and EXPIRE should restore it. A script runs alone, but it rolls nothing "
               "back: commands before the failed one keep their effect.",
        .cure = "redisson",
        .why_cured = "HINCRBY changes the count and leaves the TTL alone. The script fails here as well, and "
                     "the key still expires.",
        .ours = "holdfast_recursive",
        .why_ours = "No script removes a TTL. If a renewal is refused, the lease ends on time and its holder "
                    "is notified.",
    },
};

}  // namespace

rung counter_lua_rung() {
    return {"counter_lua", "re-entrant: the value is owner:count, in Lua scripts",
            "A practical guide to Redis locks: optimised with Lua", counter_lua_schedules};
}

}  // namespace holdfast::lab
