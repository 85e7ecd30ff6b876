#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool both_cut_off(director& d) {
    auto& a = d.start("A", {.cut_off_from = {1}});
    auto& b = d.start("B", {.cut_off_from = {1}});
    d.step("Nobody can reach Redis. An operator moves the lock to the substitute");
    d.switch_to_substitute();
    d.step("A wants the lock");
    const auto asked = boot_clock::now();
    const bool in = a.run(point::in_cs) != point::failed;
    d.step("B, another process, wants it too");
    return in ? gets_in_too(d, b, a, asked) : b.run(point::in_cs) != point::failed;
}

bool one_cut_off(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B", {.cut_off_from = {1}});
    d.step("A takes the lock, from Redis");
    a.enters();
    d.step("An operator moves the lock to the substitute, while A works");
    const auto asked = boot_clock::now();
    d.switch_to_substitute();
    d.step("B cannot reach Redis, and wants the lock");
    const bool in = b.run(point::before_retry) == point::in_cs;  // it may also fail, which is no flaw
    if (in) d.must_be_before(asked + d.ttl());
    return in && d.believes(a);
}

bool busy(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A takes the lock, from Redis");
    const auto asked = boot_clock::now();
    a.enters();
    d.step("B reaches Redis, too, and wants the lock");
    return gets_in_too(d, b, a, asked);
}

bool stale_mode(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A looks which store the lock is in: Redis");
    a.run("after_mode");
    d.step("A stands still right there, and an operator moves the lock to the substitute");
    a.pause();
    d.switch_to_substitute();
    d.step("B takes the lock, from the substitute");
    b.enters();
    const auto end = d.key_ends();
    d.step("A goes on, and wants the lock");
    a.resume();
    const bool in = a.run(point::before_retry) == point::in_cs;
    d.must_be_before(end);
    return in && d.believes(b);
}

bool cut_off_from_the_switch(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A takes the lock, from Redis");
    a.enters();
    d.step("A is cut off from the switch, and an operator moves the lock to the substitute");
    a.cut_off_from_switch();
    d.switch_to_substitute();
    d.step("B takes the lock, from the substitute");
    b.enters();
    d.step("A goes on with its work");
    a.run("before_write");
    const bool both = d.believes(a) && d.believes(b);
    if (both) d.must_own_some(a);
    return both;
}

constexpr std::array fallback_schedules{
    schedule{
        .name = "no_redis",
        .flaw = "a local lock keeps out other threads, but no other process",
        .play = both_cut_off,
        .flawed = "fallback_local",
        .why = "Each process has its own lock and gets it. The article says so: use it only for work that "
               "something else protects as well, or that may be done twice.",
        .cure = "fallback_table",
        .why_cured = "Both use the same table, and the row is A's. B waits.",
        .ours = "holdfast_mutex",
        .why_ours = "Without Redis nobody gets the lock: acquire() throws, and never grants on a guess.",
        .joint = "holdfast_joint",
        .why_joint = "All clients have moved to the database before one of them may take a lock there. It is "
                     "A's, and B waits.",
    },
    schedule{
        .name = "split",
        .flaw = "one process uses Redis, the other the substitute, and both get the lock",
        .play = one_cut_off,
        .flawed = "fallback_table",
        .why = "Each of the two stores is right, and nobody compares them. B cannot reach Redis, so it does "
               "not know what is held there.",
        .cure = "",
        .why_cured = "",
        .ours = "holdfast_mutex",
        .why_ours = "B gets an error and not the lock. No lock can promise to be available with either store "
                    "and exclusive with both.",
        .joint = "holdfast_joint",
        .why_joint =
            "For a time each lock needed both stores. So A has taken its lock in the database, too, before "
            "B may ask there, and has held it throughout.",
    },
    schedule{
        .name = "busy",
        .flaw = "a lock that another process holds is taken for a Redis that is down",
        .play = busy,
        .flawed = "fallback_local_busy",
        .why =
            "The code leaves its loop after a refusal as after an exception, and goes on to the local lock. "
            "Redis is well, and every contended acquisition has two holders.",
        .cure = "fallback_local",
        .why_cured = "Only an exception leads to the local lock. A refusal is an answer, and B waits.",
        .ours = "holdfast_joint",
        .why_ours =
            "An answer is granted, busy, refused or unknown, and none of them moves the lock to another "
            "store. B waits.",
    },
    schedule{
        .name = "stale_mode",
        .flaw = "a process acts on a flag that has changed since it looked",
        .play = stale_mode,
        .flawed = "fallback_table_flag",
        .why =
            "The flag was true when A read it. Nothing says until when an answer may be used, so A takes the "
            "lock in Redis beside B's in the table.",
        .cure = "",
        .why_cured = "",
        .ours = "holdfast_joint",
        .why_ours = "What A knew was good for its mode lease, and the change lasted longer than that. A asks "
                    "the arbiter again, finds B in the database, and waits.",
    },
    schedule{
        .name = "cut_off",
        .flaw = "a process that the switch does not reach stays where it was",
        .play = cut_off_from_the_switch,
        .flawed = "fallback_table_flag",
        .why =
            "A push reaches each process at its own moment, and A never. It works under its lock in Redis, B "
            "under one in the table.",
        .cure = "",
        .why_cured = "",
        .ours = "holdfast_joint",
        .why_ours =
            "A cannot ask the arbiter any more, so its mode lease ends, and its lock with it. The change "
            "lasted longer than that, and A knew before B was in.",
    },
};

}  // namespace

rung fallback_rung() {
    return {"fallback", "degradation: without Redis, use a substitute",
            "A practical guide to Redis locks: degradation", fallback_schedules};
}

}  // namespace holdfast::lab
