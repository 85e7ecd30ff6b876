#include "engine/standing.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

class a_member : public ::testing::Test {
  protected:
    const time_point start{1h};
    // 60 s and what clocks may drift.
    static constexpr auto sentence = 60'602ms;
    standing s{standing_rules{60s, true}};
};

TEST_F(a_member, that_has_run_for_longer_than_any_lease_counts_at_once) {
    s.met("a", 62s, start);
    EXPECT_TRUE(s.counts(start));
}

TEST_F(a_member, that_was_just_started_counts_when_the_longest_lease_is_over_since_its_start) {
    s.met("a", 10s, start);
    EXPECT_FALSE(s.counts(start));
    // Ten seconds of a clock that shows whole ones may be nine.
    EXPECT_FALSE(s.counts(start + sentence - 9s - 1ms));
    EXPECT_TRUE(s.counts(start + sentence - 9s));
    standing newborn{standing_rules{60s, true}};
    newborn.met("a", 0s, start);
    EXPECT_FALSE(newborn.counts(start + sentence - 1ms));
    EXPECT_TRUE(newborn.counts(start + sentence));
}

TEST_F(a_member, that_was_promoted_is_out_whatever_its_uptime) {
    s.met("a", 1'000s, start, "p");
    EXPECT_FALSE(s.counts(start + sentence - 1ms));
    EXPECT_TRUE(s.counts(start + sentence));
}

TEST_F(a_member, that_was_promoted_counts_earlier_if_it_is_known_since_when) {
    s.met("a", 1'000s, start, "p");
    s.began_before("b", 1h, start);
    EXPECT_FALSE(s.counts(start + sentence - 1ms)) << "that was another";
    s.began_before("a", standing::at_least(41s), start);
    EXPECT_FALSE(s.counts(start + sentence - 40s - 1ms));
    EXPECT_TRUE(s.counts(start + sentence - 40s));
    s.began_before("a", standing::at_least(1s), start);
    EXPECT_TRUE(s.counts(start + sentence - 40s)) << "what is known stays known";
    EXPECT_EQ(standing::at_least(-5s), 0s);
}

TEST_F(a_member, that_was_promoted_once_more_in_the_same_run_is_out_again) {
    s.met("a", 1'000s, start);
    ASSERT_TRUE(s.counts(start));
    s.met("a", 1'010s, start + 10s, "p");
    EXPECT_FALSE(s.counts(start + 10s + sentence - 1ms));
    EXPECT_TRUE(s.counts(start + 10s + sentence));
    s.met("a", 2'000s, start + 1'000s, "q");
    EXPECT_FALSE(s.counts(start + 1'000s + sentence - 1ms));
}

TEST_F(a_member, that_has_forgotten_its_promotion_was_not_promoted_again) {
    s.met("a", 1'000s, start, "p");
    s.met("a", 1'100s, start + 100s);
    EXPECT_TRUE(s.counts(start + 100s));
    s.met("a", 1'100s, start + 101s, "p");
    EXPECT_TRUE(s.counts(start + 101s));
}

TEST_F(a_member, of_which_nobody_can_say_what_it_remembers_is_out) {
    s.met("a", 1'000s, start);
    s.begins_anew(start + 5s);
    EXPECT_FALSE(s.counts(start + 5s + sentence - 1ms));
    EXPECT_TRUE(s.counts(start + 5s + sentence));
}

TEST_F(a_member, whose_uptime_cannot_be_true_counts_as_just_started) {
    for (const auto odd : {-3598s, std::chrono::seconds{std::chrono::hours{24} * 365 * 200}}) {
        standing one{standing_rules{60s, true}};
        one.met("a", odd, start);
        EXPECT_FALSE(one.counts(start + 60s)) << odd.count();
        EXPECT_TRUE(one.counts(start + sentence));
    }
}

TEST_F(a_member, that_is_met_again_in_the_same_run_has_forgotten_nothing) {
    s.met("a", 1'000s, start);
    s.met("a", 1s, start + 5s);  // its clock was set
    EXPECT_TRUE(s.counts(start + 5s));
    standing young{standing_rules{60s, true}};
    young.met("a", 1s, start);
    young.met("a", 20s, start + 20s);
    EXPECT_FALSE(young.counts(start + sentence - 1ms));
    EXPECT_TRUE(young.counts(start + sentence));
}

TEST_F(a_member, that_was_started_anew_is_out_whatever_it_says_of_its_uptime) {
    s.met("a", 1'000s, start);
    s.met("b", 1'000s, start + 10s);
    EXPECT_FALSE(s.counts(start + 10s + sentence - 1ms));
    EXPECT_TRUE(s.counts(start + 10s + sentence));
}

TEST_F(a_member, that_does_not_say_its_run_never_counts) {
    s.met("", 1'000s, start);
    EXPECT_TRUE(s.anonymous());
    EXPECT_FALSE(s.counts(start + 1'000s));
    s.met("a", 1'000s, start + 1'000s);
    EXPECT_TRUE(s.counts(start + 1'000s));
    s.met("", 1'000s, start + 2'000s);
    EXPECT_FALSE(s.counts(start + 2'000s));
    s.met("a", 1s, start + 2'001s);
    EXPECT_TRUE(s.counts(start + 2'001s)) << "it is the run that we knew";
}

TEST_F(a_member, that_is_trusted_always_counts_if_it_says_which_it_is) {
    standing trusted{standing_rules{60s, false}};
    trusted.met("a", 0s, start);
    EXPECT_TRUE(trusted.counts(start));
    trusted.met("b", 0s, start + 1s);
    EXPECT_TRUE(trusted.counts(start + 1s));
    trusted.met("b", 0s, start + 2s, "p");
    trusted.begins_anew(start + 3s);
    EXPECT_TRUE(trusted.counts(start + 3s));
    trusted.met("", 0s, start + 4s);
    EXPECT_FALSE(trusted.counts(start + 4s)) << "it may be another member once more";
}

}  // namespace
}  // namespace holdfast::engine
