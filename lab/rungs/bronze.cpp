#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool crash_in_cs(director& d) {
    auto& a = d.start("A");
    d.step("A takes the lock");
    a.enters();
    d.step("A crashes in the middle of its work");
    a.kill();
    return b_starves(d);
}

// More calls than the stack below can hold, however small their frames.
constexpr int tries = 3'000;
constexpr std::size_t small_stack = 256 * 1024;

bool recursive_retry(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B", {.stack = small_stack});
    d.step("A takes the lock and works for hours; the director makes its key last that long");
    a.enters();
    d.make_key_last();
    d.step("B waits: try, sleep, try again; its stack may grow to 256 KiB");
    for (int i = 0; i < tries && !b.ended(); ++i) b.run(point::before_retry);
    d.remark(b.ended() ? "B ran out of stack" : "B still runs, and waits");
    return b.ended();
}

constexpr std::array bronze_schedules{
    schedule{
        .name = "crash",
        .flaw = "a crash leaves the key for ever",
        .play = crash_in_cs,
        .flawed = "bronze",
        .why = "Only A's DEL frees the lock, and A is dead. The key has no TTL, so B is refused until "
               "somebody deletes the key by hand.",
        .cure = "silver",
        .why_cured = "The key has a TTL: the server frees the lock of a dead process after that time.",
        .ours = "holdfast_mutex",
        .why_ours = "One command sets the owner token and its TTL, and renewal ends with the process.",
    },
    schedule{
        .name = "recursion",
        .flaw = "a waiter that calls itself again runs out of stack",
        .play = recursive_retry,
        .flawed = "bronze",
        .why = "Each try is a call within the call before, and none returns until the lock is free. The "
               "sleep, which the article gives as the remedy, only delays the overflow.",
        .cure = "silver",
        .why_cured = "A loop uses the same piece of stack for every try.",
        .ours = "holdfast_mutex",
        .why_ours =
            "The lab polls in a loop here; lock() and acquire() sleep until the lock is handed off to them.",
    },
};

}  // namespace

rung bronze_rung() {
    return {"bronze", "SETNX takes the key, DEL releases it", "Five schemes of a Redis lock, part 4: bronze",
            bronze_schedules};
}

}  // namespace holdfast::lab
