// `holdfast run` while it waits for one lock or several.
#include "server/cli_run_scene.hpp"
#include "server/scene.hpp"
#include "support/send_signal.hpp"

#include <algorithm>

namespace holdfast::test::cli {
namespace {

TEST_F(run_command, waiter_enters_soon_after_a_foreign_release) {
    // The best of some tries: what is measured is the poll gap, not how busy this machine is.
    auto best = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 5; ++i) {
        hold_as_another_client("a");
        auto command = start({"run", "--json-fd", "1", "a", "--", "echo", "in"});
        ASSERT_TRUE(command.wait_for_output("\"waiting\"", patience));
        free_as_another_client("a");
        const auto freed = std::chrono::steady_clock::now();
        ASSERT_TRUE(command.wait_for_output("in\n", patience));
        best = std::min(best, std::chrono::steady_clock::now() - freed);
        EXPECT_EQ(outcome_of(command).code, 0);
    }
    EXPECT_LE(best, 100ms * slower + taken_by_the_machine());
}

TEST_F(run_command, waiter_is_woken_by_the_release_of_another_run) {
    auto first = start({"run", "a", "--", "sh", "-c", "echo held; read x"});
    ASSERT_TRUE(first.wait_for_output("held", patience));
    auto second = start({"run", "--json-fd", "1", "a", "--", "echo", "in"});
    ASSERT_TRUE(second.wait_for_output("\"waiting\"", patience));
    first.close_input();
    EXPECT_EQ(outcome_of(second).code, 0);
}

TEST_F(run_command, signal_cancels_the_wait_and_leaves_nothing_behind) {
    hold_as_another_client("b");
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        auto command = start({"run", "--json-fd", "1", "b", "a", "--", "echo", "ran"});
        ASSERT_TRUE(command.wait_for_output("\"waiting\"", patience));
        EXPECT_TRUE(is_held("a")) << "the first of the two is held while it waits for the other";
        command.signal(number);
        const auto ended = outcome_of(command);
        EXPECT_EQ(ended.code, 128 + number);
        EXPECT_EQ(ended.output.find("ran"), std::string::npos);
        EXPECT_EQ(server.keys(), words{"b"});
    }
}

TEST_F(run_command, verbose_wait_names_the_holder) {
    auto holder = start({"run", "a", "--", "sh", "-c", "echo held; read x"});
    ASSERT_TRUE(holder.wait_for_output("held", patience));
    auto waiter = start({"run", "-v", "a", "--", "true"});
    ASSERT_TRUE(waiter.wait_for_output("waiting for \"a\", held by ", patience));
    EXPECT_TRUE(waiter.wait_for_output(", pid " + std::to_string(holder.pid()), patience)) << waiter.errors();
}

TEST_F(run_command, wait_obeys_signals_though_nobody_reads_its_messages) {
    hold_as_another_client("a");
    const temp_dir folder;
    auto command =
        start_shell(full_pipe_in(folder) + "echo \"sleep: $!\"; exec \"$0\" run -v a -- true 2>&3");
    const auto sleeper = printed_pid(command, "sleep");
    // It asks who holds the lock, to report it.
    EXPECT_TRUE(eventually(patience, [&] {
        return server.command({"INFO", "commandstats"}).text.find("cmdstat_type:") != std::string::npos;
    }));
    command.signal(SIGTERM);
    EXPECT_EQ(outcome_of(command).code, 128 + SIGTERM);
    send_signal(sleeper, SIGKILL);
}

// A wait that is shorter than the setting answer_timeout asks only once.
TEST_F(run_command, short_wait_is_reported_if_answer_timeout_is_shorter) {
    hold_as_another_client("a");
    const test::temp_dir folder;
    const auto file = (folder.path() / "holdfast.conf").string();
    std::ofstream{file} << "answer_timeout = 700ms\n";
    const auto waited = run({"--config", file, "run", "--json-fd", "1", "-w", "2s", "a", "--", "true"});
    EXPECT_EQ(waited.code, 1);
    EXPECT_NE(waited.output.find("\"waiting\""), std::string::npos) << waited.output << waited.errors;
    EXPECT_EQ(run({"run", "--json-fd", "1", "-w", "1s", "a", "--", "true"}).output.find("\"waiting\""),
              std::string::npos);
}

TEST_F(run_command, handed_off_lock_has_its_whole_lease_when_the_command_starts) {
    auto holder = start({"run", "a", "--", "sh", "-c", "echo held; read x; true"});
    ASSERT_TRUE(holder.wait_for_output("held", patience));
    auto waiter =
        start({"run", "-v", "a", "--", "redis-cli", "-p", std::to_string(server.port()), "PTTL", "a"});
    ASSERT_TRUE(waiter.wait_for_output("waiting for", patience)) << waiter.errors();
    EXPECT_EQ(outcome_of(holder).code, 0);
    const auto ended = outcome_of(waiter);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_GT(std::stoi(ended.output), 15'000) << "half of 30 s";
}

// --- several locks ------------------------------------------------------------------------------

TEST_F(run_command, several_locks_are_acquired_together) {
    auto command =
        start({"run", "c", "a", "b", "a", "--", "sh", "-c", "echo \"$HOLDFAST_LOCK\"; echo held; read x"});
    ASSERT_TRUE(command.wait_for_output("held", patience));
    EXPECT_EQ(command.output(), "c\na\nb\nheld\n");
    EXPECT_EQ(server.keys(), (words{"a", "b", "c"}));
    (void)outcome_of(command);
    EXPECT_TRUE(server.keys().empty());
}

TEST_F(run_command, several_locks_are_acquired_all_or_none) {
    hold_as_another_client("b");
    EXPECT_EQ(run({"run", "-n", "a", "b", "c", "--", "true"}).code, 1);
    EXPECT_EQ(server.keys(), words{"b"});
    EXPECT_EQ(run({"run", "-w", "2s", "a", "b", "c", "--", "true"}).code, 1);
    // It has little time to leave the queue when it exits; on a slow machine its place may have to expire.
    EXPECT_TRUE(eventually(slower > 1 ? patience : 0ms, [&] { return server.keys() == words{"b"}; }));
}

TEST_F(run_command, locks_in_opposite_order_do_not_deadlock) {
    std::vector<child_process> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(start({"run", "a", "b", "--", "sleep", "0.01"}));
        all.push_back(start({"run", "b", "a", "--", "sleep", "0.01"}));
    }
    for (auto& command : all) {
        const auto ended = outcome_of(command);
        EXPECT_EQ(ended.code, 0) << ended.errors;
    }
}

TEST_F(run_command, name_may_have_any_bytes) {
    const words names{"new\nline", "{}",   "[a,b]", "a{b}c", "}{", "++",     "\xff\xfe",
                      "tab\t",     "%s%n", "ls",    "run",   " ",  "\u00e9", "'\"$(x)`"};
    for (const auto& name : names) {
        auto command =
            start({"run", name, "--", "sh", "-c", "printf '%s' \"$HOLDFAST_LOCK\"; echo '|held'; read x"});
        ASSERT_TRUE(command.wait_for_output("|held", patience)) << name << command.errors();
        EXPECT_EQ(command.output(), name + "|held\n");
        EXPECT_TRUE(is_held(name)) << name;
        (void)outcome_of(command);
        EXPECT_FALSE(is_held(name)) << name;
    }
}

TEST_F(run_command, names_between_double_dashes_may_begin_with_a_dash) {
    EXPECT_EQ(run({"run", "-n", "--", "-dash", "--", "sh", "-c", "echo \"$HOLDFAST_LOCK\""}).output,
              "-dash\n");
    EXPECT_EQ(run({"run", "--", "--help", "-n", "--", "sh", "-c", "echo \"$HOLDFAST_LOCK\""}).output,
              "--help\n-n\n");
    EXPECT_EQ(run({"run", "a", "--", "echo", "--", "-b"}).output, "-- -b\n") << "a name is there already";
    for (const auto& wrong : {words{"run", "--", "-dash", "--"}, words{"run", "--", "--", "true"},
                              words{"run", "--", "-dash", "true"}, words{"run", "-n", "--"}}) {
        const auto refused = run(wrong);
        EXPECT_EQ(refused.code, 64) << refused.errors;
        EXPECT_EQ(std::ranges::count(refused.errors, '\n'), 1) << refused.errors;
    }
}

}  // namespace
}  // namespace holdfast::test::cli
