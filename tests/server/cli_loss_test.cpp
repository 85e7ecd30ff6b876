// `holdfast run` and a lock that is lost, or held for too long or too short a time.
#include "server/cli_scene.hpp"
#include "support/stalls.hpp"

namespace holdfast::test::cli {
namespace {

class lost_lock : public command_test {};

// A command that prints its pid, prints a line for each TERM, and ends only if it is killed.
constexpr auto deaf = "trap 'echo got_term' TERM; echo \"pid: $$\"; while :; do sleep 0.02; done";

TEST_F(lost_lock, eviction_ends_the_command) {
    auto command = start({"run", "--ttl", lasting(6s), "a", "--", "sh", "-c", deaf});
    const auto pid = printed_pid(command, "pid");
    ASSERT_NE(pid, 0);
    EXPECT_EQ(run({"evict", "--yes", "a"}).code, 0);
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 75);
    EXPECT_NE(ended.output.find("got_term\n"), std::string::npos) << "TERM comes before KILL";
    EXPECT_NE(ended.errors.find("the lock \"a\" was lost"), std::string::npos) << ended.errors;
    EXPECT_TRUE(is_dead(pid));
}

TEST_F(lost_lock, is_named_without_the_others) {
    auto command = start({"run", "--ttl", lasting(3s), "a", "b", "c", "--", "sh", "-c", deaf});
    ASSERT_NE(printed_pid(command, "pid"), 0);
    EXPECT_EQ(run({"evict", "--yes", "b"}).code, 0);
    const auto ended = outcome_of(command);
    EXPECT_NE(ended.errors.find("holdfast: the lock \"b\" was lost; the command"), std::string::npos)
        << ended.errors;
}

TEST_F(lost_lock, locks_lost_together_are_named_in_the_plural) {
    auto command = start({"run", "--ttl", lasting(3s), "a", "b", "c", "--", "sh", "-c", deaf});
    ASSERT_NE(printed_pid(command, "pid"), 0);
    // On a slow machine they were acquired at different times; their first renewal is one script.
    ASSERT_TRUE(eventually(patience, [&] {
        return server
                   .command({"EVAL",
                             "local t = redis.call('PTTL', 'a') return (t == redis.call('PTTL', 'b') "
                             "and t == redis.call('PTTL', 'c')) and 1 or 0",
                             "0"})
                   .number == 1;
    }));
    server.pause();
    const auto ended = outcome_of(command);
    EXPECT_NE(
        ended.errors.find("holdfast: the locks \"a\", \"b\" and \"c\" cannot be renewed and are about to be "
                          "lost; the command"),
        std::string::npos)
        << ended.errors;
    server.resume();
}

// Nothing runs under the first lock yet: run has no reason to wait for the second.
TEST_F(lost_lock, that_is_evicted_during_a_wait_for_another_is_given_up_at_once) {
    hold_as_another_client("b");
    auto command = start({"run", "--json-fd", "1", "b", "a", "--", "echo", "ran"});
    ASSERT_TRUE(command.wait_for_output("\"waiting\"", patience));
    const auto evicted = run({"evict", "--yes", "--wait", "1m", "a"});
    EXPECT_EQ(evicted.code, 0);
    EXPECT_TRUE(evicted.output.ends_with(" gave it up\n")) << evicted.output;
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 75);
    EXPECT_TRUE(ended.errors.ends_with("holdfast: the lock \"a\" was lost before the command was started\n"))
        << ended.errors;
    EXPECT_EQ(ended.output.find("ran"), std::string::npos);
    EXPECT_EQ(server.keys(), words{"b"});
}

TEST_F(lost_lock, that_is_removed_during_a_wait_for_another_ends_the_wait) {
    hold_as_another_client("c");
    auto command = start({"run", "--json-fd", "1", "--ttl", lasting(4s), "a", "b", "c", "--", "echo", "ran"});
    ASSERT_TRUE(command.wait_for_output("\"waiting\"", patience));
    free_as_another_client("b");
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 75);
    EXPECT_TRUE(ended.errors.ends_with("holdfast: the lock \"b\" was lost before the command was started\n"))
        << ended.errors;
    EXPECT_EQ(server.keys(), words{"c"});
}

TEST_F(lost_lock, exits_with_75_whatever_the_command_returns) {
    auto command = start({"run", "--ttl", lasting(4s), "a", "--", "sh", "-c",
                          "trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done"});
    ASSERT_TRUE(command.wait_for_output("ready", patience));
    free_as_another_client("a");
    EXPECT_EQ(outcome_of(command).code, 75);
}

TEST_F(lost_lock, found_only_by_the_release_exits_with_75) {
    auto command = start({"run", "a", "--", "sh", "-c", "echo ready; read x; exit 0"});
    ASSERT_TRUE(command.wait_for_output("ready", patience));
    free_as_another_client("a");
    EXPECT_EQ(outcome_of(command).code, 75);
}

TEST_F(lost_lock, frozen_store_ends_the_command_before_the_lock_is_free) {
    auto command = start({"run", "--ttl", lasting(8s), "a", "--", "sh", "-c", deaf});
    const auto pid = printed_pid(command, "pid");
    ASSERT_NE(pid, 0);
    const auto before = std::chrono::steady_clock::now();
    const std::chrono::milliseconds left{server.command({"PTTL", "a"}).number};
    ASSERT_GT(left, 0ms);
    server.pause();
    ASSERT_TRUE(command.wait_for_output("got_term", patience));
    ASSERT_TRUE(eventually(patience, [&] { return is_dead(pid); }));
    // The guard ends it in time; a test that the machine has suspended sees it late.
    EXPECT_LT(std::chrono::steady_clock::now() - before, left + taken_by_the_machine());
    EXPECT_EQ(outcome_of(command).code, 75);
    server.resume();
}

TEST_F(lost_lock, descendants_of_the_command_are_ended_with_it) {
    auto command = start({"run", "--ttl", lasting(4s), "a", "--", "sh", "-c",
                          "(trap '' TERM; while :; do sleep 0.02; done) & echo \"deaf: $!\"; wait"});
    const auto grandchild = printed_pid(command, "deaf");
    ASSERT_NE(grandchild, 0);
    free_as_another_client("a");
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(grandchild); }));
}

TEST_F(lost_lock, command_of_a_stopped_run_is_ended_before_the_lock_is_free) {
    auto command = start({"run", "--ttl", lasting(4s), "a", "--", "sh", "-c", deaf});
    const auto pid = printed_pid(command, "pid");
    ASSERT_NE(pid, 0);
    command.pause();
    ASSERT_TRUE(eventually(patience, [&] { return !is_held("a"); }));
    EXPECT_TRUE(is_dead(pid));
    command.resume();
    EXPECT_EQ(outcome_of(command).code, 75);
}

TEST_F(lost_lock, policy_kill_sends_no_term) {
    auto command = start({"run", "--on-loss", "kill", "--ttl", lasting(4s), "a", "--", "sh", "-c", deaf});
    ASSERT_NE(printed_pid(command, "pid"), 0);
    free_as_another_client("a");
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 75);
    EXPECT_EQ(ended.output.find("got_term"), std::string::npos);
}

TEST_F(lost_lock, policy_ignore_notifies_by_the_pipe) {
    auto command = start({"run", "--on-loss", "ignore", "--ttl", lasting(4s), "a", "--", "sh", "-c",
                          "echo ready; head -c1 <&$HOLDFAST_LOST_FD >/dev/null; echo went on; exit 0"});
    ASSERT_TRUE(command.wait_for_output("ready", patience));
    free_as_another_client("a");
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.output, "ready\nwent on\n");
    EXPECT_EQ(ended.code, 75);
}

TEST_F(lost_lock, max_hold_ends_the_command) {
    const auto begun = std::chrono::steady_clock::now();
    auto command = start({"run", "--max-hold", "3s", "--grace", "1s", "a", "--", "sh", "-c", deaf});
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 75);
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 4s);
    EXPECT_NE(ended.output.find("got_term"), std::string::npos);
    EXPECT_FALSE(is_held("a"));
}

TEST_F(lost_lock, second_term_is_forwarded_and_the_end_is_reported_once) {
    auto command =
        start({"run", "--max-hold", lasting(1s), "--grace", "8s", "a", "--", "sh", "-c",
               "n=0; trap 'n=$((n+1)); echo got_term=$n; [ $n -lt 2 ] || exit 0' TERM; echo ready; "
               "while :; do sleep 0.02; done"});
    ASSERT_TRUE(command.wait_for_output("got_term=1", patience));
    command.signal(SIGTERM);
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 75);
    EXPECT_EQ(ended.output, "ready\ngot_term=1\ngot_term=2\n");
    const auto first = ended.errors.find("holdfast: the time of --max-hold for \"a\" is over");
    EXPECT_NE(first, std::string::npos) << ended.errors;
    EXPECT_EQ(ended.errors.find("holdfast: ", first + 1), std::string::npos) << ended.errors;
}

TEST_F(lost_lock, at_least_keeps_others_out_after_a_short_command) {
    const auto begun = std::chrono::steady_clock::now();
    auto command =
        start({"run", "--json-fd", "1", "--at-least", lasting(5s), "a", "--", "sh", "-c", "exit 4"});
    ASSERT_TRUE(command.wait_for_output("\"exited\"", patience));
    EXPECT_EQ(run({"run", "-n", "a", "--", "true"}).code, 1);
    EXPECT_EQ(outcome_of(command).code, 4);
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 5s);
    EXPECT_EQ(run({"run", "-n", "a", "--", "true"}).code, 0);
}

TEST_F(lost_lock, signal_ends_at_least) {
    auto command = start({"run", "--json-fd", "1", "--at-least", "1h", "a", "--", "true"});
    ASSERT_TRUE(command.wait_for_output("\"exited\"", patience));
    command.signal(SIGTERM);
    EXPECT_EQ(outcome_of(command).code, 128 + SIGTERM);
    EXPECT_FALSE(is_held("a"));
}

TEST_F(lost_lock, lock_with_any_ttl_is_renewed) {
    auto command = start({"run", "--ttl", "5s", "a", "--", "sleep", "6"});
    EXPECT_EQ(outcome_of(command).code, 0);
}

}  // namespace
}  // namespace holdfast::test::cli
