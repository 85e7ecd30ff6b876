#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

// The master grants A the lock, and fails over to a replica that lacks it. Returns when A asked.
boot_clock::time_point lose_by_failover(director& d, process& a) {
    d.step("What the master writes does not reach the replica for a moment");
    d.cut_replication();
    d.step("A takes the lock: the master says yes");
    const auto asked = boot_clock::now();
    (void)a.gets_in();  // it does not if it asks the replica too
    d.step("The master dies, and the replica takes its place");
    d.fail_over();
    return asked;
}

bool granted_twice(director& d) {
    d.use_master_and_replica();
    auto& a = d.start("A");
    const auto asked = lose_by_failover(d, a);
    auto& b = d.start("B");
    d.step("B wants the lock");
    return gets_in_too(d, b, a, asked);
}

bool written_late(director& d) {
    d.use_master_and_replica();
    auto& a = d.start("A");
    lose_by_failover(d, a);
    auto& b = d.start("B");
    d.step("B takes the lock at the new master, and writes");
    b.writes();
    d.step("A goes on with its work");
    a.run(point::done);
    return d.resource() == "written by A";
}

constexpr std::array replica_schedules{
    schedule{
        .name = "failover",
        .flaw = "a lock that never reached the replica is granted twice",
        .play = granted_twice,
        .flawed = "diamond",
        .why = "The master replies before it has replicated. What was not replicated died with it, and the "
               "new master grants B a lock that A holds. (WAIT, which Redisson sends along, counts the "
               "replicas that have it; it undoes nothing.)",
        .cure = "multilock",
        .why_cured = "A has the lock at two other masters as well, which did not fail. B gets one of three, "
                     "releases it, and waits.",
        .ours = "holdfast_replicated",
        .why_ours = "With .replicas a grant counts when a replica has confirmed it. None did, so A gets "
                    "not_replicated and the grant is undone. B gets no lock either while the new master has "
                    "no replica: safe, but not available.",
    },
    schedule{
        .name = "late_write",
        .flaw = "after a failover the old holder writes on top of the new one",
        .play = written_late,
        .flawed = "diamond",
        .why = "Both hold the lock, and neither can know of the other. They write as if there were no lock.",
        .cure = "holdfast_fenced",
        .why_cured =
            "A and B both hold it for the rest of A's lease: no lock on one master can prevent that. But "
            "fences come from the clock and grow across the failover, so the resource refuses A's write.",
        .ours = "holdfast_fenced",
        .why_ours = "",
        .leases_may_overlap = true,
    },
};

}  // namespace

rung replica_rung() {
    return {"replica", "a master with an asynchronous replica, and a failover",
            "Distributed locks in Redis: the problem of master and replica", replica_schedules};
}

}  // namespace holdfast::lab
