// What the answers of a latch may be.
#include "chaos/tests/attempts.hpp"
#include "chaos/tests/latch_histories.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace holdfast::chaos {
namespace {

latch_use used(std::uint64_t id, action what, std::int64_t amount, time_ns from, time_ns to,
               std::int64_t reported = 0) {
    latch_use u;
    u.id = id;
    u.what = what;
    u.amount = amount;
    u.asked = from;
    u.answered = to;
    u.answer = phase::ok;
    u.reported = reported;
    return u;
}
latch_use unanswered(std::uint64_t id, action what, std::int64_t amount, time_ns from) {
    auto u = used(id, what, amount, from, never);
    u.answer = phase::none;
    return u;
}
rule_names rules_of_latch(const std::vector<latch_use>& uses,
                          const std::vector<span_of_time>& forgetting = {}) {
    return rules(check_counts(uses, forgetting));
}

TEST(latch, lets_a_waiter_through_only_while_the_count_is_zero) {
    const auto set = used(1, action::set, 2, 10, 20);
    const auto down = used(2, action::down, 2, 50, 60, 0);
    const auto wait = [](time_ns from, time_ns to) { return used(3, action::wait, 0, from, to); };
    EXPECT_EQ(rules_of_latch({set, wait(21, 49), down}), rule_names{"through_early"});
    EXPECT_EQ(rules_of_latch({set, down, used(4, action::set, 1, 61, 70), wait(71, 80)}),
              rule_names{"through_early"});
    EXPECT_TRUE(rules_of_latch({set, wait(21, 50), down}).empty());  // perhaps just then
    EXPECT_TRUE(rules_of_latch({wait(5, 9), set, down}).empty());    // the count was not set yet
    EXPECT_TRUE(rules_of_latch({set, used(4, action::erase, 0, 30, 40), wait(35, 45)}).empty());
    EXPECT_TRUE(rules_of_latch({set, unanswered(4, action::down, 2, 15), wait(21, 49)}).empty());
    // It was at zero for a moment only.
    EXPECT_TRUE(rules_of_latch({set, wait(21, 90), down, used(4, action::set, 2, 61, 70)}).empty());
}

TEST(latch, unanswered_count_down_takes_effect_once_or_never) {
    const auto set = used(1, action::set, 4, 10, 20);
    const auto lost = unanswered(2, action::down, 1, 30);
    const auto read = [](std::uint64_t id, time_ns t, std::int64_t reported) {
        return used(id, action::read, 0, t, t + 1, reported);
    };
    EXPECT_TRUE(rules_of_latch({set, lost, read(3, 40, 3)}).empty());
    EXPECT_TRUE(rules_of_latch({set, lost, read(3, 40, 4), read(4, 50, 3)}).empty());
    EXPECT_EQ(rules_of_latch({set, lost, read(3, 40, 2)}), rule_names{"miscounted"});
    EXPECT_EQ(rules_of_latch({set, lost, read(3, 40, 3), read(4, 50, 2)}), rule_names{"miscounted"});
    EXPECT_EQ(rules_of_latch({set, lost, read(3, 40, 3), read(4, 50, 4)}), rule_names{"miscounted"});
    // A count_down that was sent again, and got the answer of the second time.
    EXPECT_EQ(rules_of_latch({set, used(2, action::down, 1, 30, 40, 2)}), rule_names{"miscounted"});
}

TEST(latch, answers_must_fit_some_order_of_its_uses) {
    const auto set = used(1, action::set, 3, 10, 20);
    EXPECT_EQ(rules_of_latch({used(1, action::read, 0, 10, 20, 1)}), rule_names{"miscounted"});
    EXPECT_EQ(rules_of_latch({set, used(2, action::set, 1, 30, 40)}), rule_names{"miscounted"});
    auto no = used(2, action::set, 1, 5, 9);
    no.answer = phase::busy;
    EXPECT_EQ(rules_of_latch({no, set}), rule_names{"miscounted"});
    no.what = action::erase;
    EXPECT_TRUE(rules_of_latch({no, set}).empty());
    no.asked = 30;
    no.answered = 40;
    EXPECT_EQ(rules_of_latch({set, no}), rule_names{"miscounted"});
    // Two count_downs with the same answer.
    EXPECT_EQ(rules_of_latch({set, used(2, action::down, 1, 30, 40, 2), used(3, action::down, 1, 30, 40, 2)}),
              rule_names{"miscounted"});
}

TEST(latch, failed_count_down_has_no_effect) {
    auto events = events_of(std::vector{used(1, action::set, 3, 10, 15), used(2, action::down, 1, 20, 25),
                                        used(3, action::read, 0, 30, 35, 2)});
    events[3].phase = phase::fail;
    EXPECT_EQ(rules_of_latch(uses_of(events)), rule_names{"miscounted"});
    events[3].phase = phase::info;
    EXPECT_TRUE(rules_of_latch(uses_of(events)).empty());
}

// An answer from before is forgotten like all that it reports; later answers must agree again.
TEST(latch, may_have_any_count_after_a_failover_and_is_judged_again) {
    history h;
    h.locks = {{"it", model::latch}};
    h.events = events_of(std::vector{used(1, action::set, 3, 10, 20), used(2, action::down, 2, 30, 55, 1),
                                     used(3, action::read, 0, 80, 90, 2)});
    EXPECT_EQ(rules(judge(h)), rule_names{"miscounted"});
    h.faults = {{.from = 50, .to = 70, .what = "failover", .forgets = true}};
    EXPECT_TRUE(judge(h).empty());
    const auto more = events_of(std::vector{used(4, action::read, 0, 100, 110, 3)});
    h.events.insert(h.events.end(), more.begin(), more.end());
    EXPECT_EQ(rules(judge(h)), rule_names{"miscounted"});
}

TEST(latch, at_zero_lets_all_waiters_through_in_a_time_of_calm) {
    const auto set = used(1, action::set, 3, 10, 20);
    auto waiting = unanswered(2, action::wait, 0, 30);
    const auto down = used(3, action::down, 3, 120, 150, 0);
    const std::vector<span_of_time> calm{{100, 1000}};
    const auto found = [&](time_ns bound) {
        return rules(check_latch_waits(std::vector{set, waiting, down}, calm, bound));
    };
    EXPECT_EQ(found(400), rule_names{"not_served"});
    waiting.answer = phase::ok;
    waiting.answered = 551;
    EXPECT_EQ(found(400), rule_names{"not_served"});
    waiting.answered = 550;
    EXPECT_TRUE(found(400).empty());
    // No answer shows zero, or the count was set again.
    EXPECT_TRUE(
        rules(check_latch_waits(std::vector{set, unanswered(2, action::wait, 0, 30)}, calm, 400)).empty());
    EXPECT_TRUE(rules(check_latch_waits(std::vector{set, unanswered(2, action::wait, 0, 30), down,
                                                    used(4, action::set, 1, 160, 170)},
                                        calm, 400))
                    .empty());
}

}  // namespace
}  // namespace holdfast::chaos
