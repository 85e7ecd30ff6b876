// When run ends a command because of its lock.
#include "unit/cli/supervisor_scene.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace holdfast::cli {
namespace {

using time_point = boot_clock::time_point;

TEST_F(SupervisorTest, looks_again_when_term_would_be_due_without_a_renewal) {
    EXPECT_EQ(on_event(looked{}).look_again, start_ + 10s - 500ms - 2s);
}

TEST_F(SupervisorTest, lets_a_renewed_command_run_and_returns_its_exit_code) {
    for (int i = 0; i < 100; ++i) {
        const auto action = after(3s);
        ASSERT_EQ(action.signal, 0);
        ASSERT_FALSE(action.warn);
        renew();
    }
    const auto action = on_event(ended{3, now_});
    EXPECT_TRUE(action.release);
    EXPECT_EQ(action.signal, 0) << "what the command left behind is not our business";
    watch_.released(false);
    EXPECT_EQ(watch_.exit_code(), 3);
}

TEST_F(SupervisorTest, ends_a_command_in_jeopardy_by_term_and_kill_before_the_lease_ends) {
    renewal_fails();
    EXPECT_EQ(after(7499ms).signal, 0);
    auto action = after(1ms);
    EXPECT_EQ(action.signal, SIGTERM);
    EXPECT_TRUE(action.warn);
    EXPECT_EQ(action.look_again, start_ + 9500ms);
    EXPECT_EQ(after(1999ms).signal, 0);
    action = after(1ms);
    EXPECT_EQ(action.signal, SIGKILL);
    EXPECT_FALSE(action.warn) << "warned already";
    EXPECT_EQ(after(1s).signal, 0) << "sent only once";
    EXPECT_FALSE(on_event(ended{exit_code::by_signal(SIGKILL), now_}).release);
    EXPECT_TRUE(on_event(all_ended{}).release);
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, exit_code_is_never_0_if_the_command_was_ended_for_its_lock) {
    renewal_fails();
    ASSERT_EQ(after(8s).signal, SIGTERM);
    const auto action = on_event(ended{0, now_});
    EXPECT_FALSE(action.release);
    EXPECT_EQ(action.signal, SIGKILL) << "its children may ignore TERM";
    EXPECT_FALSE(after(1ms).release);
    EXPECT_TRUE(on_event(all_ended{}).release);
    watch_.released(false);
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, waits_a_moment_for_a_renewal_that_may_be_under_way) {
    renew_once();
    auto action = after(8s);  // nothing has failed yet: we were stopped
    EXPECT_EQ(action.signal, 0);
    EXPECT_EQ(action.look_again, now_ + 100ms);
    renew();
    EXPECT_EQ(after(100ms).signal, 0);
}

TEST_F(SupervisorTest, waits_only_a_moment_for_a_renewal) {
    renew_once();
    ASSERT_EQ(after(8s).signal, 0);
    EXPECT_EQ(after(99ms).signal, 0);
    EXPECT_EQ(after(1ms).signal, SIGTERM);
}

TEST_F(SupervisorTest, handed_off_lock_has_half_its_time_for_the_first_renewal) {
    lease_.deadline = now_ + 2500ms;  // less than margin and grace together
    EXPECT_EQ(on_event(looked{}).signal, 0);
    EXPECT_EQ(after(300ms).signal, 0);
    renew();
    EXPECT_EQ(after(1s).signal, 0);
}

TEST_F(SupervisorTest, handed_off_lock_that_cannot_be_renewed_is_not_kept_to_its_end) {
    lease_.deadline = now_ + 2500ms;
    ASSERT_EQ(on_event(looked{}).signal, 0);
    ASSERT_EQ(after(999ms).signal, 0);
    EXPECT_EQ(after(1ms).signal, SIGTERM);
    EXPECT_EQ(after(1s).signal, SIGKILL);
}

// A store whose sessions last for less than the ttl, and that proves them again and again.
class SupervisorOfShortSessionsTest : public SupervisorTest {
  protected:
    void prove() { lease_.deadline = now_ + 2s; }
    run_action looks_after(boot_clock::duration d) {
        auto action = after(d);
        action.look_again = std::min(action.look_again, now_ + (lease_.deadline - now_) / 2);
        return action;
    }
};

TEST_F(SupervisorOfShortSessionsTest, a_lease_that_never_lasts_for_the_grace_ends_no_command) {
    under({.policy = on_loss::term, .grace = 5s, .margin = 500ms});
    prove();
    auto action = looks_after(0s);
    auto next = now_ + 300ms;
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(action.signal, 0) << i;
        ASSERT_FALSE(action.warn);
        for (; next <= action.look_again; next += 300ms) lease_.deadline = next + 2s - 400ms;
        action = looks_after(action.look_again - now_);
    }
}

TEST_F(SupervisorOfShortSessionsTest, a_command_is_ended_in_time_when_the_proofs_stop) {
    under({.policy = on_loss::term, .grace = 5s, .margin = 500ms});
    prove();
    ASSERT_EQ(looks_after(0s).signal, 0);
    prove();
    auto action = looks_after(100ms);
    ASSERT_EQ(action.signal, 0);
    while (action.signal == 0) action = looks_after(action.look_again - now_);
    EXPECT_EQ(action.signal, SIGTERM);
    EXPECT_GT(lease_.deadline - now_, 800ms) << "half of the time is for the command";
    do action = looks_after(action.look_again - now_);
    while (action.signal == 0);
    EXPECT_EQ(action.signal, SIGKILL);
    EXPECT_TRUE(lease_.valid);
    EXPECT_GT(lease_.deadline - now_, 50ms);
}

TEST_F(SupervisorTest, wait_for_a_late_renewal_begins_anew_after_a_renewal) {
    ASSERT_EQ(after(8s).signal, 0);
    renew();
    ASSERT_EQ(after(1s).signal, 0);
    EXPECT_EQ(after(7s).signal, 0);
}

TEST_F(SupervisorTest, kills_at_once_when_there_is_no_time_for_grace) {
    EXPECT_EQ(after(9600ms).signal, SIGKILL) << "valid still, but not for longer than the margin";
}

TEST_F(SupervisorTest, kills_at_once_after_a_stop_that_was_longer_than_the_lease) {
    const auto action = after(60s);
    EXPECT_EQ(action.signal, SIGKILL);
    EXPECT_TRUE(action.warn);
    EXPECT_EQ(watch_.why(), why_ended::lost);
}

TEST_F(SupervisorTest, sigcont_to_run_does_not_continue_a_command_without_a_lock) {
    now_ += 60s;
    lose();
    const auto action = on_event(signal_received{SIGCONT});
    EXPECT_EQ(action.signal, SIGKILL);
    EXPECT_EQ(action.forward, 0);
}

TEST_F(SupervisorTest, an_evicted_command_gets_its_grace) {
    ASSERT_EQ(after(3s).signal, 0);
    lose();
    const auto action = after(0s);
    EXPECT_EQ(action.signal, SIGTERM);
    EXPECT_EQ(action.look_again, now_ + 2s);
    EXPECT_EQ(after(2s).signal, SIGKILL);
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, late_renewal_does_not_cancel_term_but_leaves_the_full_grace) {
    renew_once();
    ASSERT_EQ(after(8s).signal, 0);
    ASSERT_EQ(after(100ms).signal, SIGTERM);
    renew();
    EXPECT_EQ(after(1999ms).signal, 0);
    EXPECT_EQ(after(1ms).signal, SIGKILL);
}

TEST_F(SupervisorTest, policy_kill_sends_no_term) {
    under({.policy = on_loss::kill, .grace = 0s, .margin = 500ms});
    renewal_fails();
    EXPECT_EQ(after(9499ms).signal, 0);
    EXPECT_EQ(after(1ms).signal, SIGKILL);
}

TEST_F(SupervisorTest, policy_ignore_warns_while_there_is_time_and_lets_the_command_run) {
    under({.policy = on_loss::ignore, .grace = 2s, .margin = 500ms});
    renewal_fails();
    auto action = after(7500ms);
    EXPECT_TRUE(action.warn);
    EXPECT_EQ(action.signal, 0);
    EXPECT_EQ(action.look_again, start_ + 10s);
    action = after(2500ms);
    EXPECT_TRUE(action.warn) << "now it is certain";
    EXPECT_EQ(action.signal, 0);
    EXPECT_EQ(on_event(signal_received{SIGUSR1}).forward, SIGUSR1);
    action = on_event(ended{0, now_});
    EXPECT_EQ(action.signal, 0);
    EXPECT_TRUE(action.release);
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, policy_ignore_forgets_a_jeopardy_that_passed) {
    under({.policy = on_loss::ignore, .grace = 2s, .margin = 500ms});
    renewal_fails();
    ASSERT_TRUE(after(8s).warn);
    renew();
    ASSERT_FALSE(after(1s).warn);
    (void)on_event(ended{0, now_});
    watch_.released(false);
    EXPECT_EQ(watch_.exit_code(), 0);
}

TEST_F(SupervisorTest, max_hold_ends_a_command_whose_lock_is_valid) {
    auto rules = usual;
    rules.max_hold = 5s;
    under(rules);
    EXPECT_EQ(after(4s).look_again, start_ + 5s);
    renew();
    const auto action = after(1s);
    EXPECT_EQ(action.signal, SIGTERM);
    EXPECT_TRUE(action.warn);
    EXPECT_EQ(watch_.why(), why_ended::max_hold);
    renew();
    EXPECT_EQ(after(2s).signal, SIGKILL);
    (void)on_event(ended{0, now_});
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, forwards_signals_while_the_command_runs) {
    EXPECT_EQ(on_event(signal_received{SIGHUP}).forward, SIGHUP);
    renewal_fails();
    ASSERT_EQ(after(8s).signal, SIGTERM);
    EXPECT_EQ(on_event(signal_received{SIGINT}).forward, SIGINT);
}

TEST_F(SupervisorTest, stops_with_the_command_but_not_while_it_is_being_ended) {
    EXPECT_TRUE(on_event(stopped{}).stop_with_it);
    renewal_fails();
    ASSERT_EQ(after(8s).signal, SIGTERM);
    const auto action = on_event(stopped{});
    EXPECT_FALSE(action.stop_with_it) << "KILL must still be sent";
    EXPECT_EQ(action.look_again, start_ + 9500ms);
}

TEST(EndingTimes, leave_a_quarter_of_the_time_after_the_first_renewal_to_renewals) {
    const auto times = ending_times_for(30s, config{});
    EXPECT_EQ(times.margin, 500ms);
    EXPECT_GT(times.longest_grace, 13s);
    EXPECT_LT(times.longest_grace, 15s);
}

TEST(EndingTimes, are_negative_if_the_lease_is_too_short) {
    EXPECT_LT(ending_times_for(10ms, config{}).longest_grace, 0ms);
    EXPECT_GT(ending_times_for(100ms, config{}).longest_grace, 0ms);
}

// --- which of several leases ended the command --------------------------------------------------

TEST(LeasesBehind, are_those_that_expire_or_cannot_be_renewed) {
    const lease_view well{.valid = true, .jeopardy = false, .deadline = time_point{20s}};
    const lease_view failing{.valid = true, .jeopardy = true, .deadline = time_point{15s}};
    const lease_view first{.valid = true, .jeopardy = false, .deadline = time_point{10s}};
    const lease_view over{.valid = false, .jeopardy = false, .deadline = time_point{12s}};
    using numbers = std::vector<std::size_t>;
    for (const auto why : {why_ended::not_yet, why_ended::expiring, why_ended::late}) {
        EXPECT_EQ(leases_behind(why, {well, failing}), numbers{1});
        EXPECT_EQ(leases_behind(why, {first, well}), numbers{0});
        EXPECT_EQ(leases_behind(why, {well, first, failing, over}), (numbers{1, 2, 3}));
        EXPECT_EQ(leases_behind(why, {well, well}), (numbers{0, 1})) << "both expire";
    }
    EXPECT_EQ(leases_behind(why_ended::lost, {well, first, over, failing}), numbers{2});
    EXPECT_EQ(leases_behind(why_ended::lost, {well, first}), (numbers{0, 1})) << "which one is not known";
    EXPECT_EQ(leases_behind(why_ended::max_hold, {well, over}), (numbers{0, 1}));
}

}  // namespace
}  // namespace holdfast::cli
