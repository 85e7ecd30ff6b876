#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool stale_count(director& d) {
    auto& a = d.start("A", {.nested = true});
    auto& b = d.start("B");
    d.step("A takes the lock");
    a.enters();
    d.must_be_owned_by(a);
    d.step("A takes it again: it checks whether it is the owner");
    a.run("after_get");
    d.step("A stands still, and the TTL passes");
    a.pause();
    d.wait_until_gone();
    d.step("B takes the lock");
    b.enters();
    const auto end = d.key_ends();
    d.step("A goes on where it stopped, and unlocks twice");
    a.resume();
    a.run(point::done);
    return c_gets_in_too(d, b, end);
}

bool same_id(director& d) {
    // As from Thread.currentThread().getId(): the main thread of every JVM is number 1.
    auto& a = d.start("A", {.owner = "1"});
    auto& b = d.start("B", {.owner = "1"});
    d.step("A takes the lock, on its thread number 1");
    const auto asked = boot_clock::now();
    a.enters();
    d.step("B, another process, wants it on its own thread number 1");
    return gets_in_too(d, b, a, asked);
}

constexpr std::array counter_schedules{
    schedule{
        .name = "stale_count",
        .flaw = "a count is written over another client's lock",
        .play = stale_count,
        .flawed = "counter",
        .why =
            "GET said that A was the owner; when A wrote its new count, the key was B's. SET XX checks that "
            "the key exists, not whose it is. A then released the stolen lock, and C got it while B worked.",
        .cure = "counter_lua",
        .why_cured = "Each operation is one script. A's unlocks find B's name and do nothing.",
        .ours = "holdfast_recursive",
        .why_ours = "It uses scripts, too, and A's lease had ended before B's could begin.",
    },
    schedule{
        .name = "same_id",
        .flaw = "two processes are the same owner",
        .play = same_id,
        .flawed = "counter",
        .why = "The article names the owner by its thread's number, and every process has a thread number "
               "1. B is taken for A and let in as if it were a nested call. `synchronized` protects only "
               "within one process.",
        .cure = "redisson",
        .why_cured = "The owner is a UUID of the process and the thread's number.",
        .ours = "holdfast_recursive",
        .why_ours = "The owner is a UUID of the client and a new number for each acquisition.",
    },
};

}  // namespace

rung counter_rung() {
    return {"counter", "re-entrant: the value is owner:count, command by command",
            "A practical guide to Redis locks: the reentrant lock", counter_schedules};
}

}  // namespace holdfast::lab
