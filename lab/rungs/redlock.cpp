#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

using namespace std::chrono_literals;

bool restart(director& d) {
    d.use_masters(5);
    auto& a = d.start("A", {.cut_off_from = {4, 5}});
    auto& b = d.start("B");
    d.step("A cannot reach nodes 4 and 5, and takes the lock at 1, 2 and 3");
    const auto asked = boot_clock::now();
    a.enters();
    d.step("Node 3 dies, and comes back without its data");
    d.restart(3);
    d.step("B wants the lock");
    return gets_in_too(d, b, a, asked);
}

bool clock_jump(director& d) {
    d.use_masters(5);
    auto& a = d.start("A", {.cut_off_from = {4, 5}});
    auto& b = d.start("B");
    d.step("The clock of node 1 is ahead, that of node 3 is behind");
    d.step_clock(1, 100s);
    d.step("A takes the lock at nodes 1, 2 and 3, checks the time, and is about to write");
    a.enters();
    a.run("before_write");
    const auto end = d.key_ends();
    d.step("The clock of node 3 is set right: it was a minute behind");
    d.step_clock(3, 61s);
    d.step("B takes the lock and writes");
    const bool in = b.gets_in();
    d.must_be_before(end);
    if (in) b.writes();
    d.step("A writes");
    a.run(point::done);
    return in && d.resource() == "written by A";
}

bool pause_before_check(director& d) {
    d.use_masters(5);
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A has the replies of all nodes, and has not checked the clock yet");
    a.run("after_quorum");
    d.step("A stands still right there, and the TTL passes");
    a.pause();
    d.wait_until_gone();
    d.step("B takes the lock");
    b.enters();
    const auto end = d.key_ends();
    d.step("A goes on");
    a.resume();
    if (const auto at = a.run(point::before_retry); at == point::failed || at == point::ended)
        throw play_broken("A failed");
    d.must_be_before(end);
    return d.believes(a) && d.believes(b);
}

bool pause_after_check(director& d) {
    d.use_masters(5);
    return a_writes_after_its_check(d);
}

constexpr std::array redlock_schedules{
    schedule{
        .name = "restart",
        .flaw = "a node that forgets its vote votes twice",
        .play = restart,
        .flawed = "redlock",
        .why = "Node 3 voted for A, lost its memory, and voted for B: 1, 2, 3 and 3, 4, 5 are two "
               "majorities. Redis keeps nothing over a crash unless configured to, and with appendfsync "
               "everysec it may lose the last second.",
        .cure = "redlock_member",
        .why_cured = "A node that comes back empty has lost its member mark. It has no vote until an "
                     "administrator marks it again, after every lock that it forgot has expired. B waits.",
        .ours = "holdfast_redlock",
        .why_ours = "A server's run id and uptime show that it restarted. It has no vote until the longest "
                    "lease that it may have forgotten is over, and nobody needs to mark it. B waits.",
    },
    schedule{
        .name = "clock",
        .flaw = "a node whose clock jumps frees the lock early, and two write",
        .play = clock_jump,
        .flawed = "redlock",
        .why = "Redis counts a TTL by the wall clock. For node 3 a minute had passed, and it voted for B. A "
               "could not know, and its write replaced B's.",
        .cure = "redlock_fenced",
        .why_cured = "Both still hold the lock. But B's fence is greater, because a majority knew A's, and "
                     "the resource refuses A's write.",
        .ours = "holdfast_redlock_fenced",
        .why_ours =
            "The lock is granted twice here too. A's fence was written to a majority before A had the "
            "lock, so B's is greater, and the resource refuses A's write.",
        .leases_may_overlap = true,
    },
    schedule{
        .name = "pause_before_check",
        .flaw = "a client that does not check the clock after the replies trusts old ones",
        .play = pause_before_check,
        .flawed = "redlock_unchecked",
        .why = "The replies had been true. A read them after the TTL had passed everywhere, and B had the "
               "lock by then.",
        .cure = "redlock",
        .why_cured = "Step 3: A compares the time since it began with the TTL, sees that nothing is left, "
                     "and releases what it was granted.",
        .ours = "holdfast_redlock",
        .why_ours = "A lease counts from before its first request was sent. A's had ended when A woke.",
    },
    schedule{
        .name = "pause_after_check",
        .flaw = "a client that stands still after checking the clock writes too late",
        .play = pause_after_check,
        .flawed = "redlock",
        .why = "Step 3 only sees what came before it. A checked in time, stood still, and wrote; five nodes "
               "help no more here than one.",
        .cure = "redlock_fenced",
        .why_cured = "The resource has seen B's greater fence, and refuses A's write.",
        .ours = "holdfast_redlock_fenced",
        .why_ours = "The same: valid() cannot see what happens after it; the fence can.",
    },
};

}  // namespace

rung redlock_rung() {
    return {"redlock", "five masters, and more than half must grant it in time",
            "Distributed locks in Redis: how Redlock works", redlock_schedules};
}

}  // namespace holdfast::lab
