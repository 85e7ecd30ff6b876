// Which level a group should use, by what its hosts report.
#include "backends/joint/automatic_rule.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::joint_backend {
namespace {

using namespace std::chrono_literals;

constexpr auto stale_after = 15s;
constexpr std::int64_t wall = 1'764'000'000'000;

health_report report(const std::string& host, std::uint64_t count, needed_levels down = {}) {
    return {"client-of-" + host, host, count, std::move(down)};
}

TEST(joint_health, text_of_reports_is_read_back) {
    const health_reports all{report("h1", 7, {0, 1}), report("h 2", 8)};
    const auto text = to_text(all);
    const auto back = parse_health(text, 2);
    ASSERT_TRUE(back);
    EXPECT_EQ(to_text(*back), text);
    EXPECT_EQ(back->at(0).down, (needed_levels{0, 1}));
    EXPECT_EQ(back->at(1).host, "h 2");
    EXPECT_EQ(to_text(*parse_health(to_text(health_reports{}), 2)), to_text(health_reports{}));
    EXPECT_FALSE(parse_health("", 2));
    EXPECT_FALSE(parse_health(text, 1)) << "this client has no such level";
    EXPECT_FALSE(parse_health(text + "\nreport\tx\ty\t\th", 2));
}

std::size_t live_in(const health& h, time_point at) { return h.live(at).value_or(health_reports{}).size(); }

TEST(joint_health, report_counts_only_while_it_counts_up) {
    health h(stale_after);
    const time_point begun{};
    h.take({report("h1", 7, {0})}, begun);
    EXPECT_FALSE(h.live(begun)) << "it may be of a client that ended long ago";
    h.take({report("h1", 8, {0})}, begun + 5s);
    EXPECT_EQ(live_in(h, begun + 5s), 1U);
    h.take({report("h1", 8, {0}), report("h2", 1)}, begun + 10s);
    EXPECT_EQ(live_in(h, begun + 19s), 2U) << "one that was not there before is of a living client";
    EXPECT_EQ(live_in(h, begun + 20s), 1U);
    h.take({report("h1", 9, {0})}, begun + 30s);
    EXPECT_EQ(live_in(h, begun + 30s), 1U) << "it stood still for a while";
}

// Else one host alone would be the majority until it has read the reports of others twice.
TEST(joint_health, nothing_is_decided_before_the_first_reports_are_known_to_be_alive_or_stale) {
    health h(stale_after);
    const time_point begun{};
    h.take({report("h1", 7), report("h2", 7)}, begun);
    h.take({report("h1", 8), report("h2", 7)}, begun + 5s);
    EXPECT_FALSE(h.live(begun + 5s));
    EXPECT_FALSE(h.live(begun + 14s));
    EXPECT_EQ(live_in(h, begun + 15s), 1U);
}

TEST(joint_health, one_client_of_each_of_five_hosts_reports) {
    health h(stale_after);
    const time_point begun{};
    h.take({report("h1", 7), report("h2", 7), report("h3", 7), report("h4", 7)}, begun);
    auto other = report("h1", 1);
    other.client = "another-of-h1";
    EXPECT_FALSE(h.with(other, begun));
    const auto five = h.with(report("h5", 1), begun);
    ASSERT_TRUE(five);
    h.take(*five, begun);
    EXPECT_FALSE(h.with(report("h6", 1), begun));
    const auto own = h.with(report("h2", 1, {1}), begun + 1s);
    ASSERT_TRUE(own);
    EXPECT_EQ(own->at(1).count, 8U);
    EXPECT_EQ(own->at(1).down, needed_levels{1});
    // Four have ended: their places are free.
    h.take(*own, begun + 10s);
    const auto left = h.with(other, begun + 20s);
    ASSERT_TRUE(left);
    ASSERT_EQ(left->size(), 2U);
    EXPECT_EQ(left->at(0).host, "h2");
    EXPECT_EQ(left->at(1).client, "another-of-h1");
}

class automatic : public ::testing::Test {
  protected:
    static constexpr auto healthy_for = 60s;

    std::optional<std::size_t> goal(const health_reports& live) {
        const auto g = rule.decide(mode, live, now, wall + now.time_since_epoch() / 1ms);
        return g ? std::optional{g->level} : std::nullopt;
    }
    void change(needed_levels to, std::string by = std::string{automatic_author}) {
        mode = changed(mode, std::move(to), wall + now.time_since_epoch() / 1ms, {.by = std::move(by)},
                       changed_by::majority);
    }

    mode_record mode = first_mode("");
    automatic_rule rule{3, healthy_for};
    time_point now{};
};

TEST_F(automatic, nothing_is_changed_while_all_is_well_or_nobody_reports) {
    EXPECT_FALSE(goal({}));
    EXPECT_FALSE(goal({report("h1", 1), report("h2", 1)}));
    EXPECT_FALSE(goal({report("h1", 1, {1}), report("h2", 1, {1, 2})})) << "those are not used";
}

TEST_F(automatic, most_hosts_must_see_the_level_down) {
    const auto sees = report("h1", 1, {0});
    EXPECT_FALSE(goal({sees, report("h2", 1)})) << "half is no majority";
    EXPECT_FALSE(goal({sees, report("h2", 1), report("h3", 1)}));
    EXPECT_EQ(goal({sees, report("h2", 1, {0}), report("h3", 1)}), 1U);
    EXPECT_EQ(goal({sees}), 1U) << "of one host, itself";
}

TEST_F(automatic, goes_to_the_most_preferred_level_that_works) {
    EXPECT_EQ(goal({report("h1", 1, {0, 1})}), 2U);
    EXPECT_FALSE(goal({report("h1", 1, {0, 1, 2})}));
}

TEST_F(automatic, goes_back_when_all_hosts_have_seen_it_up_for_long_enough) {
    change({0, 1});
    change({1});
    EXPECT_FALSE(goal({report("h1", 1), report("h2", 1, {0})}));
    EXPECT_FALSE(goal({report("h1", 1), report("h2", 1)}));
    now += healthy_for - 1ms;
    EXPECT_FALSE(goal({report("h1", 1), report("h2", 1)}));
    EXPECT_FALSE(goal({report("h1", 1), report("h2", 1, {0})})) << "it begins anew";
    now += 2ms;
    EXPECT_FALSE(goal({report("h1", 1), report("h2", 1)}));
    now += healthy_for;
    EXPECT_EQ(goal({report("h1", 1), report("h2", 1)}), 0U);
}

TEST_F(automatic, leaves_two_levels_that_stayed_for_the_preferred_one) {
    change({0, 1}, "li");
    EXPECT_EQ(goal({report("h1", 1)}), 1U) << "a change on its way goes on";
    mode = settled(mode, wall, {});
    EXPECT_EQ(goal({report("h1", 1)}), 0U);
    EXPECT_EQ(goal({report("h1", 1, {0})}), 1U);
}

TEST_F(automatic, waits_twice_as_long_each_time_the_level_fails_again) {
    for (const auto factor : {1, 2, 4, 8}) {
        change({0, 1});
        change({1});
        EXPECT_EQ(rule.must_be_healthy_for(0, mode, wall), factor * healthy_for);
        change({1, 0});
        change({0});
    }
    for (int i = 0; i < 20; ++i) change({0, 1});
    EXPECT_EQ(rule.must_be_healthy_for(0, mode, wall), 16 * healthy_for);
    EXPECT_EQ(rule.must_be_healthy_for(0, mode, wall + 3'700'000), healthy_for) << "an hour later";
}

TEST_F(automatic, a_return_that_failed_counts_as_well) {
    change({0, 1});
    change({1});
    change({1, 0});
    change({1});
    EXPECT_EQ(rule.must_be_healthy_for(0, mode, wall), 2 * healthy_for);
    EXPECT_EQ(rule.must_be_healthy_for(1, mode, wall), healthy_for) << "it was used all the time";
}

// The second level between would have to be held, too, and nobody would get a lock.
TEST_F(automatic, does_not_go_back_through_a_level_that_is_down) {
    change({0, 1});
    change({1});
    change({1, 2});
    change({2});
    const health_reports second_is_down{report("h1", 1, {1})};
    EXPECT_FALSE(goal(second_is_down));
    now += 1h;
    EXPECT_FALSE(goal(second_is_down));
    EXPECT_FALSE(goal({report("h1", 1)}));
    now += healthy_for;
    EXPECT_EQ(goal({report("h1", 1)}), 0U);
}

TEST_F(automatic, forgets_what_it_saw_before_a_pause) {
    change({0, 1});
    change({1});
    EXPECT_FALSE(goal({report("h1", 1)}));
    now += 1h;
    rule.forget();
    EXPECT_FALSE(goal({report("h1", 1)})) << "it may have been down meanwhile";
    now += healthy_for;
    EXPECT_EQ(goal({report("h1", 1)}), 0U);
}

TEST_F(automatic, what_an_operator_left_is_no_flapping) {
    for (int i = 0; i < 4; ++i) change({0, 1}, "li");
    EXPECT_EQ(rule.must_be_healthy_for(0, mode, wall), healthy_for);
}

TEST_F(automatic, goes_on_to_the_second_of_two_levels_unless_that_fails) {
    change({0, 1});
    EXPECT_EQ(goal({report("h1", 1, {0})}), 1U);
    EXPECT_EQ(goal({report("h1", 1)}), 1U);
    EXPECT_EQ(goal({report("h1", 1, {1})}), 0U);
    EXPECT_EQ(goal({report("h1", 1, {0, 1})}), 2U) << "neither of them";
    EXPECT_FALSE(goal({report("h1", 1, {0, 1, 2})}));
}

TEST(joint_automation, change_by_hand_ends_it) {
    auto r = automated(first_mode(""), true, wall, {.by = "li", .reason = "night"});
    EXPECT_TRUE(r.is_automatic());
    EXPECT_EQ(r.epoch, 1U) << "the mode is the same";
    const auto by_majority = changed(r, {0, 1}, wall, {.by = "automatic"}, changed_by::majority);
    EXPECT_TRUE(by_majority.is_automatic());
    const auto by_hand = changed(r, {0, 1}, wall, {.by = "wu"});
    EXPECT_FALSE(by_hand.is_automatic());
    EXPECT_EQ(by_hand.automation->author.by, "wu");
    const auto back = parse(to_text(by_majority), 2);
    ASSERT_TRUE(back);
    EXPECT_EQ(to_text(*back), to_text(by_majority));
    EXPECT_TRUE(back->is_automatic());
    EXPECT_EQ(back->automation->author.reason, "night");
    auto text = to_text(r);
    EXPECT_FALSE(parse(text.replace(text.find("\ton\t"), 4, "\tno\t"), 2));
}

}  // namespace
}  // namespace holdfast::joint_backend
