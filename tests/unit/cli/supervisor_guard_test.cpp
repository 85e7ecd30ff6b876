// What run expects of the guard that ends the command in its place.
#include "unit/cli/supervisor_scene.hpp"

namespace holdfast::cli {
namespace {

TEST_F(SupervisorTest, replaces_a_guard_that_does_not_answer_the_order_to_kill) {
    (void)on_event(looked{});
    lose();
    (void)on_event(looked{});
    const auto killed = after(2s);
    ASSERT_EQ(killed.signal, SIGKILL);
    EXPECT_EQ(on_event(looked{}).look_again, now_ + 1s);
    EXPECT_FALSE(after(999ms).replace_guard);
    EXPECT_TRUE(after(1ms).replace_guard);
    EXPECT_FALSE(after(1h).replace_guard) << "once";
}

TEST_F(SupervisorTest, keeps_a_guard_that_answers) {
    lose();
    (void)on_event(looked{});
    (void)on_event(ended{0, now_});
    EXPECT_EQ(on_event(looked{}).look_again, now_ + 1s);
    (void)on_event(guard_kills_it{});
    EXPECT_FALSE(after(1h).replace_guard);
}

TEST_F(SupervisorTest, stalled_run_reads_all_reports_before_it_replaces_the_guard) {
    for (const bool has_ended : {true, false}) {
        under(usual);
        (void)on_event(looked{});
        lose();
        (void)on_event(looked{});
        ASSERT_EQ(after(2s).signal, SIGKILL);
        (void)on_event(looked{});
        now_ += 1h;
        EXPECT_FALSE((has_ended ? on_event(ended{0, now_}) : on_event(stopped{})).replace_guard) << has_ended;
        EXPECT_FALSE(on_event(guard_kills_it{}).replace_guard);
        EXPECT_FALSE(after(1h).replace_guard);
    }
}

TEST_F(SupervisorTest, guard_has_its_full_time_to_answer_after_run_stalled) {
    (void)on_event(looked{});
    lose();
    (void)on_event(looked{});
    const auto killed = after(2s);
    ASSERT_EQ(killed.signal, SIGKILL);
    EXPECT_EQ(killed.look_again, now_) << "after the order";
    EXPECT_FALSE(after(1h).replace_guard) << "the guard has got the order just now";
    EXPECT_FALSE(after(999ms).replace_guard);
    EXPECT_TRUE(after(1ms).replace_guard);
}

TEST_F(SupervisorTest, guards_time_to_answer_begins_with_a_look_after_the_order) {
    (void)on_event(looked{});
    lose();
    ASSERT_EQ(on_event(looked{}).signal, SIGTERM);
    const auto began_to_look = now_;
    now_ += 1h;  // run stalls before it learns of the end
    ASSERT_EQ(on_event(ended{0, began_to_look}).signal, SIGKILL);
    EXPECT_FALSE(watch_.resume(looked{}, lease_, began_to_look).replace_guard);
    EXPECT_FALSE(after(1ms).replace_guard) << "the guard has got the order just now";
    EXPECT_TRUE(after(1s).replace_guard);
}

TEST_F(SupervisorTest, sends_no_second_term_after_the_guards_term) {
    const auto action = on_event(ended_by_guard{});
    EXPECT_EQ(action.signal, 0);
    EXPECT_TRUE(action.warn);
    EXPECT_EQ(watch_.why(), why_ended::late);
    EXPECT_EQ(after(2s).signal, SIGKILL);
    (void)on_event(ended{0, now_});
    EXPECT_TRUE(on_event(all_ended{}).release);
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, guard_acts_after_run_and_before_the_lease_ends) {
    renewal_fails();
    (void)on_event(looked{});
    const auto limits = watch_.limits_for_guard(now_);
    EXPECT_EQ(limits.kill_by, start_ + 9500ms);
    EXPECT_EQ(limits.term_by, start_ + 8500ms);
    EXPECT_EQ(after(7500ms).signal, SIGTERM);
}

TEST_F(SupervisorTest, guard_leaves_most_of_a_handed_off_lease_to_the_first_renewal) {
    lease_.deadline = now_ + 2500ms;
    (void)on_event(looked{});
    const auto limits = watch_.limits_for_guard(now_);
    EXPECT_EQ(limits.kill_by, start_ + 2s);
    EXPECT_EQ(limits.term_by, start_ + 1500ms);
    ASSERT_EQ(after(999ms).signal, 0);
    EXPECT_EQ(after(1ms).signal, SIGTERM) << "earlier than the guard";
}

}  // namespace
}  // namespace holdfast::cli
