#include "cli/run/guard_plan.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using time_point = boot_clock::time_point;
using signal = guard_action::signal;
using task = guard_order::task;

// A guard that knows a lease: TERM is due after 8 s, KILL after 9 s, with 2 s of grace.
class GuardPlanTest : public testing::Test {
  protected:
    void SetUp() override { (void)order(task::watch); }

    guard_action order(task what) {
        return plan_.resume(ordered{{.what = what, .term_by = now_ + 8s, .kill_by = now_ + 9s, .grace = 2s}},
                            now_);
    }
    guard_action on_event(const guard_event& what) { return plan_.resume(what, now_); }
    guard_action after(boot_clock::duration d) {
        now_ += d;
        return on_event(noticed{});
    }

    time_point now_{1000s};
    guard_plan plan_;
};

TEST_F(GuardPlanTest, does_nothing_while_the_deadline_moves) {
    for (int i = 0; i < 10; ++i) {
        const auto action = after(5s);
        EXPECT_EQ(action.send, signal::none);
        EXPECT_FALSE(action.exit);
        EXPECT_EQ(order(task::watch).look_again, now_ + 8s);
    }
}

TEST_F(GuardPlanTest, sends_term_and_kill_in_time_if_the_deadline_does_not_move) {
    EXPECT_EQ(after(7999ms).send, signal::none);
    const auto action = after(1ms);
    EXPECT_EQ(action.send, signal::term);
    EXPECT_TRUE(action.report_that_it_ends);
    EXPECT_EQ(after(999ms).send, signal::none);
    EXPECT_EQ(after(1ms).send, signal::kill) << "the lease ends before the grace does";
    EXPECT_EQ(after(10ms).send, signal::kill) << "until nobody is left";
    const auto last = on_event(nobody_left{});
    EXPECT_TRUE(last.report_that_none_is_left);
    EXPECT_FALSE(last.exit) << "run waits for the report";
    EXPECT_TRUE(on_event(link_broken{}).exit);
}

TEST_F(GuardPlanTest, ends_all_processes_when_run_is_killed) {
    const auto action = on_event(link_broken{});
    EXPECT_EQ(action.send, signal::term);
    EXPECT_FALSE(action.exit);
    EXPECT_EQ(after(1999ms).send, signal::none);
    EXPECT_EQ(after(1ms).send, signal::kill) << "the grace is over before the lease is";
    EXPECT_TRUE(on_event(nobody_left{}).exit);
}

TEST_F(GuardPlanTest, kills_descendants_that_outlive_the_command) {
    ASSERT_EQ(on_event(link_broken{}).send, signal::term);
    EXPECT_EQ(on_event(command_ended{}).send, signal::kill);
}

TEST_F(GuardPlanTest, waits_for_newer_orders_when_the_command_ends) {
    now_ += 1h;
    EXPECT_EQ(on_event(command_ended{}).send, signal::none);
    EXPECT_EQ(order(task::watch).send, signal::none) << "it moves the deadline";
    EXPECT_EQ(after(7999ms).send, signal::none);
    const auto action = after(1ms);
    EXPECT_EQ(action.send, signal::kill) << "there is no command that could do anything about it";
    EXPECT_TRUE(action.report_that_it_ends);
}

TEST_F(GuardPlanTest, kills_at_once_when_it_wakes_after_the_lease) {
    const auto action = after(1h);
    EXPECT_EQ(action.send, signal::kill);
    EXPECT_TRUE(action.report_that_it_ends);
}

TEST_F(GuardPlanTest, kills_at_once_when_run_dies_before_its_first_order) {
    guard_plan fresh;
    EXPECT_EQ(fresh.resume(link_broken{}, now_).send, signal::kill);
}

TEST_F(GuardPlanTest, sends_term_only_to_processes_that_run_did_not_signal) {
    const auto action = order(task::term);
    EXPECT_EQ(action.send, signal::term_others);
    EXPECT_FALSE(action.report_that_it_ends);
}

TEST_F(GuardPlanTest, keeps_the_grace_when_the_deadline_moves_after_term) {
    ASSERT_EQ(after(8s).send, signal::term) << "the lease would end after half of the grace";
    EXPECT_EQ(order(task::term).send, signal::none) << "it was sent";
    EXPECT_EQ(after(1999ms).send, signal::none);
    EXPECT_EQ(after(1ms).send, signal::kill);
}

TEST_F(GuardPlanTest, second_order_to_send_term_does_not_extend_the_grace) {
    ASSERT_EQ(order(task::term).send, signal::term_others);
    EXPECT_EQ(after(1s).send, signal::none);
    EXPECT_EQ(order(task::term).send, signal::none);
    EXPECT_EQ(after(999ms).send, signal::none);
    EXPECT_EQ(after(1ms).send, signal::kill);
}

TEST_F(GuardPlanTest, limits_the_time_for_sending_term) {
    const auto action = order(task::term);
    EXPECT_EQ(action.kill_at, now_ + 2s);
}

TEST_F(GuardPlanTest, kills_on_order_and_reports_when_nobody_is_left) {
    EXPECT_EQ(order(task::kill).send, signal::kill);
    EXPECT_TRUE(on_event(nobody_left{}).report_that_none_is_left);
    EXPECT_EQ(order(task::kill).send, signal::none) << "nobody is left";
}

TEST_F(GuardPlanTest, sends_no_signal_after_look_on_even_when_run_dies) {
    (void)order(task::look_on);
    EXPECT_EQ(after(1h).send, signal::none);
    const auto action = on_event(link_broken{});
    EXPECT_EQ(action.send, signal::none);
    EXPECT_TRUE(action.exit);
}

TEST_F(GuardPlanTest, exits_on_order) {
    ASSERT_EQ(on_event(command_ended{}).send, signal::none);
    const auto action = order(task::leave);
    EXPECT_TRUE(action.exit);
    EXPECT_EQ(action.send, signal::none);
}

}  // namespace
}  // namespace holdfast::cli
