#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <fmt/format.h>

#include <array>

namespace holdfast::lab {

namespace {

using namespace std::chrono_literals;

bool long_pause(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A takes the lock");
    a.enters();
    d.step("The whole process A stands still, its watchdog too, and the TTL passes");
    a.pause();
    d.wait_until_gone();
    d.step("B takes the lock");
    b.enters();
    d.step("A goes on with its work");
    a.resume();
    a.run(point::done);
    return d.believes(b) && d.resource() == "written by A";
}

bool lost_reply(director& d) {
    auto& a = d.start("A", {.may_lose_reply = true});
    d.step("A takes the lock; the server grants it, and its reply gets lost on the way");
    d.lose_next_answer();
    a.enters();
    d.must_have_lost_it();
    const auto end = d.key_ends();
    d.step("A has done its work and unlocks");
    a.run(point::done);
    d.step("B wants the lock");
    auto& b = d.start("B");
    const bool in = b.gets_in();
    d.must_be_before(end);
    return !in;
}

bool lost_message(director& d) {
    d.must_last(1s);
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A takes the lock");
    a.enters();
    d.step("B wants it, is refused, and waits for a message");
    const auto asked = boot_clock::now();
    if (b.gets_in()) throw play_broken("B got the lock while A held it");
    b.go(point::in_cs);
    d.step("B stands still for a moment, and the connection of its subscription breaks");
    d.must_listen();
    b.pause();
    d.cut_subscriptions();
    d.step("A unlocks, and notifies all subscribers");
    a.run(point::done);
    const auto unlocked = boot_clock::now();
    d.must_be_before(asked + d.ttl() / 4);
    d.step("B goes on, and gets the lock");
    b.resume();
    if (const auto at = b.arrive(); at != point::in_cs) throw play_broken(fmt::format("B stopped at {}", at));
    // A waiter that got a message, or asked by itself, comes soon. One that sleeps for the TTL of its last
    // reply still sleeps for at least two thirds of the TTL.
    return d.believes_since(b) - unlocked > d.ttl() / 3;
}

bool full_memory(director& d) {
    auto& a = d.start("A");
    d.step("A takes the lock and does its work");
    a.enters();
    a.run("before_unlock");
    const auto end = d.key_ends();
    d.step("The server's memory is full (maxmemory), and A unlocks");
    d.fill_memory();
    a.run(point::done);
    d.step("There is room again, and B wants the lock");
    d.free_memory();
    auto& b = d.start("B");
    const bool in = b.gets_in();
    d.must_be_before(end);
    return !in;
}

constexpr std::array redisson_schedules{
    schedule{
        .name = "long_pause",
        .flaw = "a holder that stood still longer than the TTL writes beside the next holder",
        .play = long_pause,
        .flawed = "redisson",
        .why = "The watchdog is a thread of the process that stands still. A wakes up unaware of the pause, "
               "still believes it holds the lock, and writes.",
        .cure = "",
        .why_cured = "",
        .ours = "holdfast_fenced",
        .why_ours = "A lease is a deadline, not a flag: valid() compares it with the clock, so A knows at "
                    "once. It does not write.",
    },
    schedule{
        .name = "lost_reply",
        .flaw = "a lost reply makes the lock count twice: one unlock is not enough",
        .play = lost_reply,
        .flawed = "redisson",
        .why = "The script had run when the connection broke. A sent it again, and it counted as a nested "
               "call. One unlock is not enough, and B waits. (Redisson does so before 3.37, and still with "
               "replicas or a cluster.)",
        .cure = "",
        .why_cured = "",
        .ours = "holdfast_recursive",
        .why_ours =
            "Each acquisition has its own name. The script recognizes a repeat and does not count it.",
    },
    schedule{
        .name = "lost_message",
        .flaw = "a waiter that misses the message sleeps on although the lock is free",
        .play = lost_message,
        .flawed = "redisson",
        .why = "A message reaches only the clients subscribed at that moment. B was not, and sleeps for the "
               "remaining TTL that its refusal returned: up to 30 seconds by Redisson's default.",
        .cure = "",
        .why_cured = "",
        .ours = "holdfast_waiting",
        .why_ours = "A client that reconnects asks again at once, and a waiter asks now and then even "
                    "without a message.",
    },
    schedule{
        .name = "full_memory",
        .flaw = "a server without memory refuses the unlock",
        .play = full_memory,
        .flawed = "redisson",
        .why = "HINCRBY may need memory, so a server that has none left refuses the script: the lock stays "
               "until its TTL, when locks are needed most.",
        .cure = "diamond",
        .why_cured = "DEL never needs memory.",
        .ours = "holdfast_recursive",
        .why_ours = "No command of its release needs memory.",
    },
};

}  // namespace

rung redisson_rung() {
    return {"redisson", "a hash of owner and count, a unique owner, a watchdog",
            "Distributed locks in Redis: Redisson, the reentrant lock and the watchdog", redisson_schedules};
}

}  // namespace holdfast::lab
