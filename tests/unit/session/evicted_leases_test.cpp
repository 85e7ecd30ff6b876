#include "session/evicted_leases.hpp"

#include "session/held_lease.hpp"

#include "unit/session/scripted_store.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::session {
namespace {

using namespace std::chrono_literals;

class evicted_leases_test : public ::testing::Test {
  protected:
    [[nodiscard]] static evicted_leases::lease one() {
        const auto now = boot_clock::now();
        return std::make_shared<held_lease>(never_asked(), backend::lock_key{backend::kind::native, "stock"},
                                            owner_id{"me|1"}, engine::lease_terms{30s, true}, fence::none,
                                            now + 1h, now);
    }
    [[nodiscard]] evicted_leases::report to_operator() {
        return [this] { ++reports; };
    }
    // Returns whether the lock may be freed; reports as the client does.
    bool end_hold(const evicted_leases::lease& t) {
        const auto gave_up = evicted.end_hold(*t);
        if (gave_up && *gave_up) (*gave_up)();
        return gave_up.has_value();
    }

    evicted_leases evicted;
    int reports = 0;
};

TEST_F(evicted_leases_test, are_kept_until_they_are_released) {
    const auto t = one();
    EXPECT_TRUE(evicted.keep({t}, to_operator()));
    EXPECT_TRUE(evicted.keeps(*t));
    EXPECT_EQ(reports, 0);
    EXPECT_TRUE(end_hold(t));
    EXPECT_FALSE(evicted.keeps(*t));
    EXPECT_EQ(reports, 1);
    EXPECT_TRUE(end_hold(t));
    EXPECT_EQ(reports, 1) << "reported once";
}

TEST_F(evicted_leases_test, are_kept_until_their_last_hold_is_released) {
    const auto t = one();
    ASSERT_TRUE(evicted.keep({t}, to_operator()));
    evicted.count_holds(*t, 3);
    EXPECT_FALSE(end_hold(t));
    EXPECT_FALSE(end_hold(t));
    EXPECT_TRUE(evicted.keeps(*t));
    EXPECT_TRUE(end_hold(t));
    EXPECT_EQ(reports, 1);
}

TEST_F(evicted_leases_test, are_freed_one_by_one_and_reported_together) {
    const auto writes = one(), reads = one();
    ASSERT_TRUE(evicted.keep({writes, reads}, to_operator()));
    EXPECT_TRUE(end_hold(writes));
    EXPECT_EQ(reports, 0);
    EXPECT_TRUE(evicted.keeps(*reads));
    EXPECT_TRUE(end_hold(reads));
    EXPECT_EQ(reports, 1);
}

TEST_F(evicted_leases_test, are_not_kept_if_a_thread_holds_one_by_lock) {
    const auto lease = one(), locked = one();
    locked->thread = this_thread();
    EXPECT_FALSE(evicted.keep({lease, locked}, to_operator()));
    EXPECT_FALSE(evicted.keeps(*lease));
    EXPECT_FALSE(evicted.keeps(*locked));
}

TEST_F(evicted_leases_test, stay_with_the_first_eviction) {
    const auto t = one();
    int others = 0;
    ASSERT_TRUE(evicted.keep({t}, to_operator()));
    EXPECT_FALSE(evicted.keep({t}, [&] { ++others; }));
    EXPECT_TRUE(end_hold(t));
    EXPECT_EQ(reports, 1);
    EXPECT_EQ(others, 0);
}

TEST_F(evicted_leases_test, are_kept_and_not_reported_if_one_of_them_ended_in_another_way) {
    const auto writes = one(), reads = one();
    ASSERT_TRUE(evicted.keep({writes, reads}, to_operator()));
    evicted.forget(*writes);
    EXPECT_FALSE(evicted.keeps(*writes));
    EXPECT_EQ(writes.use_count(), 1);
    EXPECT_TRUE(evicted.keeps(*reads)) << "work goes on under it";
    evicted.count_holds(*reads, 2);
    EXPECT_TRUE(end_hold(writes));
    EXPECT_FALSE(end_hold(reads));
    EXPECT_TRUE(end_hold(reads));
    EXPECT_EQ(reports, 0);
}

TEST_F(evicted_leases_test, all_end_with_the_client) {
    const auto writes = one(), reads = one(), other = one();
    ASSERT_TRUE(evicted.keep({writes, reads}, to_operator()));
    ASSERT_TRUE(evicted.keep({other}, to_operator()));
    evicted.count_holds(*writes, 2);
    const auto all = evicted.end_all();
    EXPECT_EQ(all.size(), 3U);
    for (const auto& [of, gave_up] : all)
        if (gave_up) gave_up();
    EXPECT_EQ(reports, 2) << "one for each eviction";
    EXPECT_FALSE(evicted.keeps(*writes));
    EXPECT_TRUE(evicted.end_all().empty());
}

}  // namespace
}  // namespace holdfast::session
