#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool long_work(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A takes the lock");
    a.enters();
    d.step("A works, and works longer than the TTL");
    d.wait_beyond_ttl();
    d.step("B wants the lock, while A works");
    const bool in = b.gets_in() && d.believes(a);
    d.step("A finishes its work and unlocks");
    a.run(point::done);
    return in;
}

bool nested_call(director& d) {
    auto& a = d.start("A", {.nested = true});
    d.step("A takes the lock");
    a.enters();
    d.step("A calls a function that takes the same lock");
    if (a.run(point::before_retry) == point::nested) return false;
    const bool waits_for_itself = a.refused(5);
    d.must_be_owned_by(a);
    d.step("A waits for itself until the TTL passes");
    d.wait_until_gone();
    d.step("Nobody has the lock now, and A is still at work");
    a.run(point::nested);
    return waits_for_itself;
}

constexpr std::array diamond_schedules{
    schedule{
        .name = "long_work",
        .flaw = "work that takes longer than the TTL loses exclusion",
        .play = long_work,
        .flawed = "diamond",
        .why = "The key expired while A worked, and B took it by the rules. A's release returns 0 and harms "
               "nobody: the release is right, the exclusion is gone.",
        .cure = "redisson",
        .why_cured =
            "A watchdog renews the key while its holder lives, so work may take as long as it takes.",
        .ours = "holdfast_mutex",
        .why_ours = "It renews, too, whenever a third of the lease has passed.",
    },
    schedule{
        .name = "nested",
        .flaw = "a holder that takes the lock again waits for itself",
        .play = nested_call,
        .flawed = "diamond",
        .why = "SET NX refuses every caller, the holder too. A waits for its own lock until the TTL frees "
               "it, and from then on its outer work has no protection.",
        .cure = "counter",
        .why_cured = "The value names the owner and counts its holds, so the owner may lock again.",
        .ours = "holdfast_recursive",
        .why_ours =
            "recursive_mutex counts. A plain mutex refuses the self-wait at once: errc::would_deadlock.",
    },
};

}  // namespace

rung diamond_rung() {
    return {"diamond", "a value per owner; compare and delete in a Lua script",
            "Five schemes of a Redis lock, part 8: diamond", diamond_schedules};
}

}  // namespace holdfast::lab
