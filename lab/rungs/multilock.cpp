#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool one_dead(director& d) {
    d.use_masters(3);
    auto& a = d.start("A");
    d.step("One of three servers dies");
    d.kill(3);
    d.step("A wants the lock, which nobody holds");
    return a.refused(5);  // the server stays dead, so later tries would fail, too
}

constexpr std::array multilock_schedules{
    schedule{
        .name = "one_dead",
        .flaw = "one dead server of several prevents every lock",
        .play = one_dead,
        .flawed = "multilock",
        .why = "All servers must grant the lock, so each of them alone can prevent it: three servers fail "
               "more often than one.",
        .cure = "redlock",
        .why_cured = "Two of three are enough. Two holders cannot have two of three each.",
        .ours = "holdfast_redlock",
        .why_ours = "A redlock needs a majority of its servers, too. A multi_lock would need all three: it "
                    "is for several locks that belong together, not for one lock on several servers.",
    },
};

}  // namespace

rung multilock_rung() {
    return {"multilock", "several masters, and all of them must grant it",
            "Distributed locks in Redis: MultiLock", multilock_schedules};
}

}  // namespace holdfast::lab
