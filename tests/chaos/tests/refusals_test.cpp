// Which refusals are right, and which waiters must be served.
#include "chaos/tests/attempts.hpp"
#include "chaos/tests/random_history.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::chaos {
namespace {

TEST(refusal, is_spurious_if_nobody_had_the_lock) {
    const lock_row lock{"it"};
    const std::vector<attempt> history{holding(1, 10, 50), refused(2, 60, 65, 2)};
    EXPECT_EQ(rules(check_refusals(history, lock, {})), rule_names{"spurious_no"});
    EXPECT_TRUE(
        check_refusals(history, lock, {{.from = 55, .to = 62, .what = "flock", .foreign = true}}).empty());
    // The holder was about to release it.
    EXPECT_TRUE(check_refusals(std::vector{holding(1, 10, 50), refused(2, 51, 65, 2)}, lock, {}).empty());
    // The fault may have left something behind.
    EXPECT_TRUE(check_refusals(history, lock, {{20, 30, "a fault", 0}}).empty());
    EXPECT_FALSE(check_refusals(history, lock, {{70, 80, "a later fault", 0}}).empty());
}

TEST(refusal, may_be_due_to_a_dead_waiter_that_stays_in_the_queue) {
    history h;
    h.locks = {{"fair", model::reentrant}};
    h.events = events_of({holding(1, 10, 50), refused(2, 60, 65, 2)});
    EXPECT_EQ(rules(judge(h)), rule_names{"spurious_no"});
    h.locks[0].dead_stay_in_queue = true;
    EXPECT_TRUE(judge(h).empty());
}

TEST(refusal, may_be_due_to_a_nested_hold_that_is_released_last) {
    history h;
    h.locks = {{"it", model::reentrant}};
    auto inner = holding(2, 20, 100);
    inner.outer = 1;
    inner.depth = 2;
    h.events = events_of({holding(1, 10, 50), inner, refused(3, 60, 65, 2)});
    EXPECT_TRUE(judge(h).empty());
    h.events = events_of({holding(1, 10, 50), inner, refused(3, 110, 115, 2)});
    EXPECT_EQ(rules(judge(h)), rule_names{"spurious_no"});
}

// "One asks for all": a try beside another thread of its client that is just asking is refused without the
// store.
TEST(refusal, may_be_due_to_another_thread_of_the_same_client) {
    const lock_row lock{"it"};
    EXPECT_TRUE(check_refusals(std::vector{refused(1, 10, 50, 1), refused(2, 30, 31, 1)}, lock, {}).empty());
    EXPECT_EQ(check_refusals(std::vector{refused(1, 10, 50, 1), refused(2, 30, 31, 2)}, lock, {}).size(), 2U);
}

TEST(refusal, by_votes_may_be_due_to_a_rival_with_some_of_the_votes) {
    lock_row lock{"it"};
    lock.by_votes = true;
    presence how;
    how.undone_after = 5;
    const auto found_by = [&](std::vector<attempt> history) {
        return check_refusals(history, lock, {}, how).size();
    };
    EXPECT_EQ(found_by({refused(1, 10, 50, 1), refused(2, 30, 31, 2)}), 0U);
    // Votes that are too few, or more than needed, are released after the answer.
    EXPECT_EQ(found_by({refused(1, 10, 26, 1), refused(2, 30, 31, 2)}), 1U);
    EXPECT_EQ(found_by({holding(1, 10, 26), refused(2, 30, 31, 2)}), 0U);
    EXPECT_EQ(found_by({refused(1, 10, 24, 1), refused(2, 30, 31, 2)}), 2U);
    EXPECT_EQ(found_by({holding(1, 10, 23), refused(2, 30, 31, 2)}), 1U);
}

TEST(refusal, of_a_reader_is_right_only_if_there_may_be_a_writer) {
    const lock_row lock{"it", model::shared};
    auto other = holding(1, 10, 50);
    auto no = refused(2, 20, 30, 2);
    no.side = side::reader;
    other.side = side::reader;
    EXPECT_EQ(rules(check_refusals(std::vector{other, no}, lock, {})), rule_names{"spurious_no"});
    other.side = side::writer;
    EXPECT_TRUE(check_refusals(std::vector{other, no}, lock, {}).empty());
}

TEST(refusal, of_permits_is_right_only_if_too_few_were_free) {
    const lock_row lock{"it", model::counted, false, 3};
    auto other = holding(1, 10, 50);
    auto no = refused(2, 20, 30, 2);
    EXPECT_EQ(rules(check_refusals(std::vector{other, no}, lock, {})), rule_names{"spurious_no"});
    no.permits = 3;
    EXPECT_TRUE(check_refusals(std::vector{other, no}, lock, {}).empty());
}

TEST(waiter, must_be_served_in_a_time_of_calm) {
    auto waiting = holding(1, 500, 600);
    waiting.asked = 10;
    const std::vector<span_of_time> calm{{100, 1000}};
    EXPECT_TRUE(check_liveness(std::vector{waiting}, calm, 400).empty());
    EXPECT_EQ(rules(check_liveness(std::vector{waiting}, calm, 399)), rule_names{"not_served"});
    // The calm was too short to say.
    EXPECT_TRUE(check_liveness(std::vector{waiting}, {{100, 450}}, 399).empty());
    waiting.answered = never;
    waiting.answer = phase::none;
    EXPECT_EQ(rules(check_liveness(std::vector{waiting}, calm, 399)), rule_names{"not_served"});
    // A waiter with a limit gives up by itself.
    waiting.wait = 50;
    EXPECT_TRUE(check_liveness(std::vector{waiting}, calm, 399).empty());
}

TEST(waiter, of_a_killed_client_need_not_be_served) {
    history h;
    h.locks = {{"it"}};
    attempt waiting;
    waiting.id = 1;
    waiting.process = 7;
    waiting.asked = 10;
    h.events = events_of({waiting});
    h.calm = {{100, 1000}};
    judgement_settings how;
    how.served_within = 100;
    EXPECT_EQ(rules(judge(h, how)), rule_names{"not_served"});
    h.faults = {{50, 60, "killed", 7}};
    EXPECT_TRUE(judge(h, how).empty());
}

}  // namespace
}  // namespace holdfast::chaos
