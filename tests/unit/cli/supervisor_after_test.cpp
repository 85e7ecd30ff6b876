// What run does once the command has ended, and the exit code that it returns.
#include "unit/cli/supervisor_scene.hpp"

namespace holdfast::cli {
namespace {

TEST_F(SupervisorTest, at_least_keeps_the_lock_after_a_short_command) {
    auto rules = usual;
    rules.at_least = 20s;
    under(rules);
    now_ += 1s;
    const auto action = on_event(ended{7, now_});
    EXPECT_FALSE(action.release);
    EXPECT_EQ(action.look_again, start_ + 20s);
    renew();
    EXPECT_FALSE(after(9s).release);
    renew();
    EXPECT_TRUE(after(10s - 1ms).look_again == start_ + 20s);
    renew();
    EXPECT_TRUE(after(1ms).release);
    EXPECT_EQ(watch_.exit_code(), 7);
}

TEST_F(SupervisorTest, signal_ends_the_resting_phase) {
    rest_after(0);
    EXPECT_FALSE(on_event(signal_received{SIGUSR1}).release);
    EXPECT_TRUE(on_event(signal_received{SIGTERM}).release);
    EXPECT_EQ(watch_.exit_code(), exit_code::by_signal(SIGTERM));
}

TEST_F(SupervisorTest, lock_lost_in_the_resting_phase_is_released_at_once) {
    rest_after(0);
    lose();
    EXPECT_TRUE(after(1s).release);
    watch_.released(true);
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, loss_in_the_resting_phase_does_not_hide_the_commands_failure) {
    rest_after(7);
    lose();
    EXPECT_TRUE(after(1s).release);
    watch_.released(true);
    EXPECT_EQ(watch_.exit_code(), 7);
}

TEST_F(SupervisorTest, loss_that_only_the_release_finds_counts) {
    ASSERT_TRUE(on_event(ended{0, now_}).release);
    watch_.released(true);
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, a_lease_that_ended_before_the_command_is_a_loss) {
    (void)on_event(looked{});
    now_ += 11s;
    lose();
    const auto action = on_event(ended{7, now_});
    EXPECT_EQ(action.signal, SIGKILL);
    EXPECT_TRUE(action.warn);
    EXPECT_TRUE(on_event(all_ended{}).release);
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, failure_of_a_command_is_returned_if_the_lease_expired_after_it) {
    (void)on_event(looked{});
    now_ += 9s;
    const auto end = now_;
    now_ += 10s;
    lose();
    const auto action = on_event(ended{7, end});
    EXPECT_TRUE(action.release);
    EXPECT_FALSE(action.warn);
    EXPECT_EQ(action.signal, 0);
    EXPECT_TRUE(watch_.lost_later());
    watch_.released(true);
    EXPECT_EQ(watch_.exit_code(), 7);
}

TEST_F(SupervisorTest, success_needs_the_stores_confirmation_if_the_lease_expired_since) {
    (void)on_event(looked{});
    now_ += 11s;
    lose();
    EXPECT_TRUE(on_event(ended{0, start_ + 9s}).release);
    watch_.released(true);
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, evicted_lease_may_have_been_lost_before_the_command_ended) {
    (void)on_event(looked{});
    now_ += 5s;
    lose();
    EXPECT_EQ(on_event(ended{7, start_ + 4s}).signal, SIGKILL);
    EXPECT_EQ(watch_.exit_code(), exit_code::lost);
}

TEST_F(SupervisorTest, command_that_never_ran_lost_nothing) {
    auto rules = usual;
    rules.at_least = 20s;
    under(rules);
    EXPECT_TRUE(on_event(not_started{exit_code::not_found}).release);
    watch_.released(true);
    EXPECT_EQ(watch_.exit_code(), exit_code::not_found);
}

}  // namespace
}  // namespace holdfast::cli
