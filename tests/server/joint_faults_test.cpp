// A Redis of a joint store in trouble, in each mode and in each step between modes: whatever happens to the
// holder of a lock, it is told, its lease is never valid together with another one, and the waiter is served
// in time.
#include "server/joint_scene.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

enum class met_in {
    redis,     // alone
    leaving,   // Redis first, then the file
    file,      // alone
    returning  // the file first, then Redis
};
enum class trouble {
    killed,
    stopped,
    emptied,  // killed and started again at once, without its data
};

std::string name_of(met_in where) {
    switch (where) {
        case met_in::redis: return "in_redis";
        case met_in::leaving: return "on_the_way_to_the_file";
        case met_in::file: return "in_the_file";
        case met_in::returning: return "on_the_way_back";
    }
    return {};
}
std::string name_of(trouble what) {
    switch (what) {
        case trouble::killed: return "killed";
        case trouble::stopped: return "stopped";
        case trouble::emptied: return "emptied";
    }
    return {};
}

class joint_redis : public joint_scene, public ::testing::WithParamInterface<std::tuple<trouble, met_in>> {
  protected:
    const trouble what = std::get<trouble>(GetParam());
    const met_in where = std::get<met_in>(GetParam());

    void reach() {
        if (where == met_in::leaving) use_both();
        if (where == met_in::file || where == met_in::returning) change_to(1);
        if (where == met_in::returning) use_both({1, 0});
    }
    void strike() {
        switch (what) {
            case trouble::killed: return redis.stop();
            case trouble::stopped: return redis.pause();
            case trouble::emptied: return redis.restart(redis_server::data::lose);
        }
    }
    void mend() {
        if (what == trouble::killed) redis.start();
        if (what == trouble::stopped) redis.resume();
    }
    // Without it, it serves again by itself, after its quarantine.
    [[nodiscard]] bool needs_the_operator() const {
        return what != trouble::emptied && where != met_in::file;
    }
};

INSTANTIATE_TEST_SUITE_P(
    , joint_redis,
    ::testing::Combine(::testing::Values(trouble::killed, trouble::stopped, trouble::emptied),
                       ::testing::Values(met_in::redis, met_in::leaving, met_in::file, met_in::returning)),
    [](const auto& one) {
        return name_of(std::get<trouble>(one.param)) + '_' + name_of(std::get<met_in>(one.param));
    });

TEST_P(joint_redis, in_trouble_costs_the_lock_time_and_never_makes_two_holders) {
    reach();
    event_recorder events{a};
    const bool unnoticed = what == trouble::emptied && where == met_in::redis;
    // Then nothing but its time tells it that Redis has forgotten the lock: the quarantine must outlast it.
    auto held = mutex(a, "stock").acquire({.ttl = short_ttl, .renew = !unnoticed});
    std::mutex one_at_a_time;  // nobody looks at a lease while it is released
    struct served {
        lease got;
        bool beside_the_holder;
    };
    auto waiter = in_background([&] {
        auto got = mutex(b, "stock").acquire();
        const std::lock_guard hold{one_at_a_time};
        const bool both = held.valid() && got.valid();  // in this order: then both were valid at once
        return served{std::move(got), both};
    });
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(admin, "stock").queue.size() == 1; }));

    strike();
    stopwatch since;
    if (needs_the_operator()) {
        change_to(1);
        // The mode with two levels, the answers that Redis does not give, and its clock's at each step.
        EXPECT_LT(since.took(), mode_lease + max_skew + answers_within + 2 * clock_looked_at + slack);
    }
    if (what == trouble::emptied && where != met_in::file) {
        EXPECT_TRUE(events.has(event_kind::lost)) << "Redis has forgotten the lock";
    }
    // A waiter whose attempts met the trouble asks again late: if it may get in beside the holder, it does so
    // before the lock is released.
    if (held.valid() && ready(waiter, short_ttl)) {
        EXPECT_FALSE(held.valid());
    }
    since = {};
    if (held.valid()) {
        const std::lock_guard hold{one_at_a_time};
        (void)held.release();
    } else {
        EXPECT_TRUE(events.has(event_kind::lost));
        const std::lock_guard hold{one_at_a_time};
        EXPECT_EQ(held.release(), release_outcome::already_lost);
    }
    ASSERT_TRUE(ready(waiter, patience));
    // The rest of the lease that was lost, or the quarantine, which is as long.
    EXPECT_LT(since.took(), short_ttl + answers_within + slack);
    auto then = waiter.get();
    EXPECT_FALSE(then.beside_the_holder);
    EXPECT_TRUE(then.got.valid());
    EXPECT_FALSE(grants(a, "stock"));

    (void)then.got.release();
    mend();
    change_to(0);
    const auto again = mutex(a, "stock").try_acquire_for(patience);  // its quarantine
    ASSERT_TRUE(again);
    EXPECT_TRUE(in_redis("stock"));
    EXPECT_FALSE(grants(b, "stock"));
}

}  // namespace
}  // namespace holdfast::test
