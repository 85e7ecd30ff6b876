#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

bool both_cut_off(director& d) {
    auto& a = d.start("A", {.cut_off_from = {1}});
    auto& b = d.start("B", {.cut_off_from = {1}});
    d.step("Nobody can reach Redis. A wants the lock");
    const auto asked = boot_clock::now();
    if (a.run(point::in_cs) == point::failed) {
        d.step("B, another process, wants it too");
        return b.run(point::in_cs) != point::failed;
    }
    d.step("B, another process, wants it too");
    return gets_in_too(d, b, a, asked);
}

bool one_cut_off(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B", {.cut_off_from = {1}});
    d.step("A takes the lock, from Redis");
    const auto asked = boot_clock::now();
    a.enters();
    d.step("B cannot reach Redis, and wants the lock");
    const bool in = b.run(point::before_retry) == point::in_cs;  // it may also fail, which is no flaw
    if (in) d.must_be_before(asked + d.ttl());
    return in && d.believes(a);
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
    },
};

}  // namespace

rung fallback_rung() {
    return {"fallback", "degradation: without Redis, use a substitute",
            "A practical guide to Redis locks: degradation", fallback_schedules};
}

}  // namespace holdfast::lab
