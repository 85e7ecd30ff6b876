#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool lost_in_failover(director& d) {
    d.use_master_and_replica();
    auto& a = d.start("A");
    d.step("What the master writes does not reach the replica for a moment");
    d.cut_replication();
    d.step("A takes the lock: the master says yes");
    a.run(point::in_cs);
    d.step("The master dies, and the replica takes its place");
    d.fail_over();
    auto& b = d.start("B");
    d.step("B takes the lock at the new master, and writes");
    const bool in = gets_in(b) && d.believes(a);
    b.run(point::done);
    d.step("A goes on with its work");
    a.run(point::done);
    return in && d.resource() == "written by A";
}

constexpr std::array replica_schedules{
    schedule{
        .name = "failover",
        .flaw = "a lock that the replica never heard of is granted twice",
        .play = lost_in_failover,
        .flawed = "redisson",
        .why = "The master answers before it has told its replicas. What it had not told them died with "
               "it, and the new master gives B a lock that A holds.",
        .cure = "holdfast_fenced",
        .why_cured = "A and B still hold it at once for the rest of A's lease: no lock on one master can "
                     "help that. But fences come from the clock and grow across the failover, so the "
                     "resource refuses A's write.",
        .ours = "holdfast_fenced",
        .why_ours = "",
    },
};

}  // namespace

rung replica_rung() {
    return {"replica", "a master with an asynchronous replica, and a failover",
            "Redis locks: the problem of master and replica", replica_schedules};
}

}  // namespace holdfast::lab
