#include "engine/quarantine.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

class server_in_quarantine : public ::testing::Test {
  protected:
    const time_point start{1h};
    // 60 s and the clock drift.
    static constexpr auto length = 60'602ms;
    quarantine q{quarantine_settings{60s, true}};
};

TEST_F(server_in_quarantine, is_released_at_once_if_it_has_run_for_longer_than_any_lease) {
    q.on_connected("a", 62s, start);
    EXPECT_TRUE(q.has_ended(start));
}

TEST_F(server_in_quarantine, is_released_when_the_longest_lease_since_its_start_is_over) {
    q.on_connected("a", 10s, start);
    EXPECT_FALSE(q.has_ended(start));
    // Ten seconds on a clock of whole seconds may be nine.
    EXPECT_FALSE(q.has_ended(start + length - 9s - 1ms));
    EXPECT_TRUE(q.has_ended(start + length - 9s));
    quarantine of_newborn{quarantine_settings{60s, true}};
    of_newborn.on_connected("a", 0s, start);
    EXPECT_FALSE(of_newborn.has_ended(start + length - 1ms));
    EXPECT_TRUE(of_newborn.has_ended(start + length));
}

TEST_F(server_in_quarantine, is_quarantined_after_a_promotion_whatever_its_uptime) {
    q.on_connected("a", 1'000s, start, "p");
    EXPECT_FALSE(q.has_ended(start + length - 1ms));
    EXPECT_TRUE(q.has_ended(start + length));
}

TEST_F(server_in_quarantine, is_released_earlier_if_the_time_of_its_promotion_is_known) {
    q.on_connected("a", 1'000s, start, "p");
    q.began_before("b", 1h, start);
    EXPECT_FALSE(q.has_ended(start + length - 1ms)) << "the note is about another server";
    q.began_before("a", quarantine::least_elapsed(41s), start);
    EXPECT_FALSE(q.has_ended(start + length - 40s - 1ms));
    EXPECT_TRUE(q.has_ended(start + length - 40s));
    q.began_before("a", quarantine::least_elapsed(1s), start);
    EXPECT_TRUE(q.has_ended(start + length - 40s)) << "what is known stays known";
    EXPECT_EQ(quarantine::least_elapsed(-5s), 0s);
}

TEST_F(server_in_quarantine, is_quarantined_again_after_another_promotion_in_the_same_run) {
    q.on_connected("a", 1'000s, start);
    ASSERT_TRUE(q.has_ended(start));
    q.on_connected("a", 1'010s, start + 10s, "p");
    EXPECT_FALSE(q.has_ended(start + 10s + length - 1ms));
    EXPECT_TRUE(q.has_ended(start + 10s + length));
    q.on_connected("a", 2'000s, start + 1'000s, "q");
    EXPECT_FALSE(q.has_ended(start + 1'000s + length - 1ms));
}

TEST_F(server_in_quarantine, is_not_quarantined_again_if_it_forgets_its_promotion) {
    q.on_connected("a", 1'000s, start, "p");
    q.on_connected("a", 1'100s, start + 100s);
    EXPECT_TRUE(q.has_ended(start + 100s));
    q.on_connected("a", 1'100s, start + 101s, "p");
    EXPECT_TRUE(q.has_ended(start + 101s));
}

TEST_F(server_in_quarantine, is_quarantined_if_nobody_knows_what_it_remembers) {
    q.on_connected("a", 1'000s, start);
    q.restart(start + 5s);
    EXPECT_FALSE(q.has_ended(start + 5s + length - 1ms));
    EXPECT_TRUE(q.has_ended(start + 5s + length));
}

TEST_F(server_in_quarantine, is_taken_for_just_started_if_its_uptime_cannot_be_true) {
    for (const auto odd : {-3598s, std::chrono::seconds{std::chrono::hours{24} * 365 * 200}}) {
        quarantine one{quarantine_settings{60s, true}};
        one.on_connected("a", odd, start);
        EXPECT_FALSE(one.has_ended(start + 60s)) << odd.count();
        EXPECT_TRUE(one.has_ended(start + length));
    }
}

TEST_F(server_in_quarantine, is_not_quarantined_if_it_connects_again_in_the_same_run) {
    q.on_connected("a", 1'000s, start);
    q.on_connected("a", 1s, start + 5s);  // its clock was set
    EXPECT_TRUE(q.has_ended(start + 5s));
    quarantine of_young{quarantine_settings{60s, true}};
    of_young.on_connected("a", 1s, start);
    of_young.on_connected("a", 20s, start + 20s);
    EXPECT_FALSE(of_young.has_ended(start + length - 1ms));
    EXPECT_TRUE(of_young.has_ended(start + length));
}

TEST_F(server_in_quarantine, is_quarantined_after_a_restart_whatever_its_uptime) {
    q.on_connected("a", 1'000s, start);
    q.on_connected("b", 1'000s, start + 10s);
    EXPECT_FALSE(q.has_ended(start + 10s + length - 1ms));
    EXPECT_TRUE(q.has_ended(start + 10s + length));
}

TEST_F(server_in_quarantine, is_never_released_without_a_run_id) {
    q.on_connected("", 1'000s, start);
    EXPECT_TRUE(q.anonymous());
    EXPECT_FALSE(q.has_ended(start + 1'000s));
    q.on_connected("a", 1'000s, start + 1'000s);
    EXPECT_TRUE(q.has_ended(start + 1'000s));
    q.on_connected("", 1'000s, start + 2'000s);
    EXPECT_FALSE(q.has_ended(start + 2'000s));
    q.on_connected("a", 1s, start + 2'001s);
    EXPECT_TRUE(q.has_ended(start + 2'001s)) << "the run is known";
}

TEST_F(server_in_quarantine, is_released_at_once_if_quarantines_are_off_and_it_has_a_run_id) {
    quarantine off{quarantine_settings{60s, false}};
    off.on_connected("a", 0s, start);
    EXPECT_TRUE(off.has_ended(start));
    off.on_connected("b", 0s, start + 1s);
    EXPECT_TRUE(off.has_ended(start + 1s));
    off.on_connected("b", 0s, start + 2s, "p");
    off.restart(start + 3s);
    EXPECT_TRUE(off.has_ended(start + 3s));
    off.on_connected("", 0s, start + 4s);
    EXPECT_FALSE(off.has_ended(start + 4s)) << "it may be another member once more";
}

}  // namespace
}  // namespace holdfast::engine
