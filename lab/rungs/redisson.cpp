#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool long_pause(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A takes the lock");
    a.run(point::in_cs);
    d.step("The whole process A stands still, its watchdog too, and the TTL passes");
    a.pause();
    d.wait_until_gone();
    d.step("B takes the lock");
    b.run(point::in_cs);
    d.step("A goes on with its work");
    a.resume();
    a.run(point::done);
    return d.believes(b) && d.resource() == "written by A";
}

constexpr std::array redisson_schedules{
    schedule{
        .name = "long_pause",
        .flaw = "who stood still for longer than the TTL writes beside the next holder",
        .play = long_pause,
        .flawed = "redisson",
        .why = "The watchdog is a thread of the process that stands still. A wakes up and knows nothing of "
               "it: it believes what it believed, and writes.",
        .cure = "",
        .why_cured = "",
        .ours = "holdfast_fenced",
        .why_ours = "The lease is arithmetic and not a flag: valid() compares the clock with a deadline, "
                    "so A knows at once. It does not write.",
    },
};

}  // namespace

rung redisson_rung() {
    return {"redisson", "a hash of owner and count, a unique owner, a watchdog",
            "Redis locks: Redisson, the reentrant lock and the watchdog", redisson_schedules};
}

}  // namespace holdfast::lab
