#include "engine/standing.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

class quorum_member : public ::testing::Test {
  protected:
    const time_point start{1h};
    // 60 s and the clock drift.
    static constexpr auto quarantine = 60'602ms;
    standing s{standing_rules{60s, true}};
};

TEST_F(quorum_member, counts_at_once_if_it_has_run_for_longer_than_any_lease) {
    s.met("a", 62s, start);
    EXPECT_TRUE(s.counts(start));
}

TEST_F(quorum_member, counts_when_the_longest_lease_since_its_start_is_over) {
    s.met("a", 10s, start);
    EXPECT_FALSE(s.counts(start));
    // Ten seconds on a clock of whole seconds may be nine.
    EXPECT_FALSE(s.counts(start + quarantine - 9s - 1ms));
    EXPECT_TRUE(s.counts(start + quarantine - 9s));
    standing newborn{standing_rules{60s, true}};
    newborn.met("a", 0s, start);
    EXPECT_FALSE(newborn.counts(start + quarantine - 1ms));
    EXPECT_TRUE(newborn.counts(start + quarantine));
}

TEST_F(quorum_member, is_quarantined_after_a_promotion_whatever_its_uptime) {
    s.met("a", 1'000s, start, "p");
    EXPECT_FALSE(s.counts(start + quarantine - 1ms));
    EXPECT_TRUE(s.counts(start + quarantine));
}

TEST_F(quorum_member, counts_earlier_if_the_time_of_its_promotion_is_known) {
    s.met("a", 1'000s, start, "p");
    s.began_before("b", 1h, start);
    EXPECT_FALSE(s.counts(start + quarantine - 1ms)) << "the note is about another server";
    s.began_before("a", standing::at_least(41s), start);
    EXPECT_FALSE(s.counts(start + quarantine - 40s - 1ms));
    EXPECT_TRUE(s.counts(start + quarantine - 40s));
    s.began_before("a", standing::at_least(1s), start);
    EXPECT_TRUE(s.counts(start + quarantine - 40s)) << "what is known stays known";
    EXPECT_EQ(standing::at_least(-5s), 0s);
}

TEST_F(quorum_member, is_quarantined_again_after_another_promotion_in_the_same_run) {
    s.met("a", 1'000s, start);
    ASSERT_TRUE(s.counts(start));
    s.met("a", 1'010s, start + 10s, "p");
    EXPECT_FALSE(s.counts(start + 10s + quarantine - 1ms));
    EXPECT_TRUE(s.counts(start + 10s + quarantine));
    s.met("a", 2'000s, start + 1'000s, "q");
    EXPECT_FALSE(s.counts(start + 1'000s + quarantine - 1ms));
}

TEST_F(quorum_member, is_not_quarantined_again_if_it_forgets_its_promotion) {
    s.met("a", 1'000s, start, "p");
    s.met("a", 1'100s, start + 100s);
    EXPECT_TRUE(s.counts(start + 100s));
    s.met("a", 1'100s, start + 101s, "p");
    EXPECT_TRUE(s.counts(start + 101s));
}

TEST_F(quorum_member, is_quarantined_if_nobody_knows_what_it_remembers) {
    s.met("a", 1'000s, start);
    s.begins_anew(start + 5s);
    EXPECT_FALSE(s.counts(start + 5s + quarantine - 1ms));
    EXPECT_TRUE(s.counts(start + 5s + quarantine));
}

TEST_F(quorum_member, is_taken_for_just_started_if_its_uptime_cannot_be_true) {
    for (const auto odd : {-3598s, std::chrono::seconds{std::chrono::hours{24} * 365 * 200}}) {
        standing one{standing_rules{60s, true}};
        one.met("a", odd, start);
        EXPECT_FALSE(one.counts(start + 60s)) << odd.count();
        EXPECT_TRUE(one.counts(start + quarantine));
    }
}

TEST_F(quorum_member, is_not_quarantined_if_it_is_met_again_in_the_same_run) {
    s.met("a", 1'000s, start);
    s.met("a", 1s, start + 5s);  // its clock was set
    EXPECT_TRUE(s.counts(start + 5s));
    standing young{standing_rules{60s, true}};
    young.met("a", 1s, start);
    young.met("a", 20s, start + 20s);
    EXPECT_FALSE(young.counts(start + quarantine - 1ms));
    EXPECT_TRUE(young.counts(start + quarantine));
}

TEST_F(quorum_member, is_quarantined_after_a_restart_whatever_its_uptime) {
    s.met("a", 1'000s, start);
    s.met("b", 1'000s, start + 10s);
    EXPECT_FALSE(s.counts(start + 10s + quarantine - 1ms));
    EXPECT_TRUE(s.counts(start + 10s + quarantine));
}

TEST_F(quorum_member, never_counts_without_a_run_id) {
    s.met("", 1'000s, start);
    EXPECT_TRUE(s.anonymous());
    EXPECT_FALSE(s.counts(start + 1'000s));
    s.met("a", 1'000s, start + 1'000s);
    EXPECT_TRUE(s.counts(start + 1'000s));
    s.met("", 1'000s, start + 2'000s);
    EXPECT_FALSE(s.counts(start + 2'000s));
    s.met("a", 1s, start + 2'001s);
    EXPECT_TRUE(s.counts(start + 2'001s)) << "the run is known";
}

TEST_F(quorum_member, always_counts_if_it_is_trusted_and_has_a_run_id) {
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
