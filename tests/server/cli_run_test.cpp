// `holdfast run`: what the command under the lock receives, and what its caller receives.
#include "server/cli_run_scene.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace holdfast::test::cli {
namespace {

std::vector<nlohmann::json> events_in(const std::string& output) {
    std::vector<nlohmann::json> events;
    std::istringstream lines{output};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("{\"event\"")) events.push_back(nlohmann::json::parse(line));
    }
    return events;
}

// --- exit codes ---------------------------------------------------------------------------------

TEST_F(run_command, exit_code_is_that_of_the_command) {
    EXPECT_EQ(run({"run", "a", "--", "true"}).code, 0);
    EXPECT_EQ(run({"run", "a", "--", "sh", "-c", "exit 7"}).code, 7);
    EXPECT_FALSE(is_held("a"));
}

TEST_F(run_command, exit_code_of_a_killed_command_is_128_plus_the_signal) {
    EXPECT_EQ(run({"run", "a", "--", "sh", "-c", "kill -KILL $$"}).code, 128 + SIGKILL);
}

TEST_F(run_command, command_that_cannot_run_exits_with_126_or_127) {
    EXPECT_EQ(run({"run", "a", "--", "/nonexistent"}).code, 127);
    EXPECT_EQ(run({"run", "a", "--", "no-such-command"}).code, 127);
    EXPECT_EQ(run({"run", "a", "--", ""}).code, 127);
    EXPECT_EQ(run({"run", "a", "--", "/etc/passwd"}).code, 126);
    EXPECT_EQ(run({"run", "--at-least", "1h", "a", "--", "/nonexistent"}).code, 127);
    EXPECT_FALSE(is_held("a"));
}

TEST_F(run_command, script_without_interpreter_line_is_run_by_the_shell) {
    const temp_dir folder;
    const auto script = folder.path() / "script";
    std::ofstream{script} << "exit 9\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    EXPECT_EQ(run({"run", "a", "--", script.string()}).code, 9);
}

TEST_F(run_command, conflict_exits_with_1_or_the_given_code) {
    hold_as_another_client("a");
    const auto refused = run({"run", "-n", "a", "--", "echo", "ran"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.output, "");
    EXPECT_EQ(refused.errors, "");
    EXPECT_EQ(run({"run", "-n", "-E", "42", "a", "--", "true"}).code, 42);
    EXPECT_EQ(run({"run", "-w", "2s", "-E", "0", "a", "--", "false"}).code, 0);
    EXPECT_EQ(run({"run", "-w", "2s", "-v", "a", "--", "true"}).errors,
              "holdfast: did not acquire \"a\": another client holds it\n");
}

TEST_F(run_command, wait_ends_at_its_limit) {
    hold_as_another_client("a");
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(run({"run", "-w", "2s", "a", "--", "true"}).code, 1);
    const auto waited = std::chrono::steady_clock::now() - begun;
    EXPECT_GE(waited, 2s);
    EXPECT_LT(waited, 2s + 5s * slower);
}

TEST_F(run_command, unreachable_store_exits_with_69) {
    const auto url = "redis://127.0.0.1:" + std::to_string(server.port());
    server.stop();
    auto command = start_command({"--url", url, "run", "-n", "a", "--", "true"});
    const auto refused = outcome_of(command);
    EXPECT_EQ(refused.code, 69);
    EXPECT_NE(refused.errors.find("is the server running"), std::string::npos) << refused.errors;
    EXPECT_EQ(std::ranges::count(refused.errors, '\n'), 1) << "one sentence";
}

TEST_F(run_command, wait_in_an_outage_is_reported_once_and_gets_the_lock_afterwards) {
    const std::string url = server.url();
    server.stop();
    auto command = start_command({"--url", url, "run", "-w", "1m", "a", "--", "echo", "in"});
    ASSERT_TRUE(command.wait_for_output("holdfast: waiting: ", patience));
    server.start();
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.output, "in\n");
    EXPECT_EQ(std::ranges::count(ended.errors, '\n'), 1) << ended.errors;
}

TEST_F(run_command, outage_that_outlasts_the_wait_exits_with_69) {
    const std::string url = server.url();
    server.stop();
    for (const std::string wait : {"300ms", "3s"}) {
        auto command = start_command({"--url", url, "run", "-w", wait, "a", "--", "true"});
        EXPECT_EQ(outcome_of(command).code, 69);
    }
    const temp_dir folder;
    const auto file = (folder.path() / "holdfast.conf").string();
    std::ofstream{file} << "patience = 300ms\n";
    auto command = start_command({"--url", url, "--config", file, "run", "a", "--", "true"});
    EXPECT_EQ(outcome_of(command).code, 69) << "without a limit of its own it waits as long as the patience";
}

TEST(run_command_with_password, wrong_password_exits_with_69_and_is_not_shown) {
    redis_server::options with_password;
    with_password.password = "sesame";
    redis_server server{with_password};
    const auto address = "127.0.0.1:" + std::to_string(server.port());
    auto command =
        start_command({"run", "a", "--", "true"}, {{"HOLDFAST_URL", "redis://:opensaysme@" + address}});
    const auto refused = outcome_of(command);
    EXPECT_EQ(refused.code, 69);
    EXPECT_EQ(refused.errors.find("opensaysme"), std::string::npos) << refused.errors;
    EXPECT_NE(refused.errors.find("password"), std::string::npos) << refused.errors;

    const temp_dir folder;
    const auto file = (folder.path() / "holdfast.conf").string();
    std::ofstream{file} << "url = redis://:sesame@" << address << "\nlease = 5s\n";
    auto with_file = start_command({"--config", file, "run", "a", "--", "true"});
    EXPECT_EQ(outcome_of(with_file).code, 0);
}

TEST_F(run_command, key_of_another_type_exits_with_64) {
    ASSERT_EQ(server.command({"HSET", "a", "field", "value"}).number, 1);
    EXPECT_EQ(run({"run", "-n", "a", "--", "true"}).code, 64);
}

TEST_F(run_command, invalid_permits_exit_with_64) {
    for (const auto& wrong : std::vector<words>{{"--permits", "0"},
                                                {"--permits", "0x1"},
                                                {"--of", "1e3"},
                                                {"--permits", "3", "--of", "2"},
                                                {"--permits", "1", "-s"},
                                                {"--permits", "1", "--fenced"},
                                                {"--permits", "1", "--kind", "fair"},
                                                {"--kind", "permits", "--permits", "1001"}}) {
        words all{"run", "render"};
        all.insert(all.end(), wrong.begin(), wrong.end());
        all.insert(all.end(), {"--", "true"});
        const auto refused = run(all);
        EXPECT_EQ(refused.code, 64) << refused.errors;
    }
}

TEST_F(run_command, misuse_exits_with_64_and_one_sentence) {
    const std::vector<words> wrong{
        {"run", "a"},
        {"run", "--", "true"},
        {"run", "", "--", "true"},
        {"run", std::string(1025, 'x'), "--", "true"},
        {"run", "-w", "5", "a", "--", "true"},
        {"run", "-w", "-5s", "a", "--", "true"},
        {"run", "-n", "-w", "5s", "a", "--", "true"},
        {"run", "--kind", "rubber", "a", "--", "true"},
        {"run", "--kind", "recursive", "--fenced", "a", "--", "true"},
        {"run", "--ttl", "0", "a", "--", "true"},
        {"run", "--ttl", "10ms", "a", "--", "true"},
        {"run", "--ttl", "10s", "--grace", "9s", "a", "--", "true"},
        {"run", "--on-loss", "kill", "--grace", "1s", "a", "--", "true"},
        {"run", "--on-loss", "ignore", "--max-hold", "1s", "a", "--", "true"},
        {"run", "--at-least", "2s", "--max-hold", "1s", "a", "--", "true"},
        {"run", "-E", "256", "a", "--", "true"},
        {"run", "--replicas", "0", "a", "--", "true"},
        {"run", "--replicas-within", "1s", "a", "--", "true"},
        {"run", "--replicas", "1", "--replicas-within", "0", "a", "--", "true"},
        {"run", "--replicas", "1", "--replicas-within", "20s", "a", "--", "true"},
        {"run", "--json-fd", "77", "a", "--", "true"},
        {"run", "--json-fd", "0", "a", "--", "true"},
        {"run", "-s", "-x", "a", "--", "true"},
        {"run", "-s", "--fenced", "a", "--", "true"},
        {"run", "-x", "--kind", "fair", "a", "--", "true"},
        {"run", "--kind", "shared", "a", "--", "true"},
        {"--url", "ftp://host", "run", "a", "--", "true"},
        {"--url", server.url(), "--url", server.url(), "run", "a", "--", "true"},
        {"--config", "/nonexistent", "run", "a", "--", "true"},
        {"--config", "/dev/zero", "run", "a", "--", "true"},
        {"--url", "local:", "run", "a", "--", "true"},
    };
    for (const auto& arguments : wrong) {
        const auto refused = run(arguments);
        std::string line;
        for (const auto& word : arguments) line += word.substr(0, 20) + " ";
        EXPECT_EQ(refused.code, 64) << line;
        EXPECT_EQ(refused.output, "") << line;
        EXPECT_TRUE(refused.errors.starts_with("holdfast: ")) << line << refused.errors;
        EXPECT_EQ(std::ranges::count(refused.errors, '\n'), 1) << line << refused.errors;
    }
    EXPECT_TRUE(server.keys().empty());
}

// --- what the command receives ------------------------------------------------------------------

TEST_F(run_command, command_receives_the_name_and_the_owner_token) {
    auto command =
        start({"run", "a", "--", "sh", "-c",
               "echo \"[$HOLDFAST_LOCK] [${HOLDFAST_FENCE-none}] token=$HOLDFAST_TOKEN; held\"; read x"});
    ASSERT_TRUE(command.wait_for_output("held", patience));
    const auto token = server.command({"GET", "a"}).text;
    EXPECT_EQ(command.output(), "[a] [none] token=" + token + "; held\n");
}

TEST_F(run_command, fences_grow_and_an_inner_run_does_not_inherit_them) {
    const auto first = run({"run", "--fenced", "a", "--", "sh", "-c", "echo $HOLDFAST_FENCE"});
    const auto second = run({"run", "--fenced", "a", "--", "sh", "-c", "echo $HOLDFAST_FENCE"});
    EXPECT_GT(std::stoull(second.output), std::stoull(first.output));
    EXPECT_EQ(run({"run", "--fenced", "a", "--", HOLDFAST_COMMAND, "run", "b", "--", "sh", "-c",
                   "echo ${HOLDFAST_FENCE-none}"})
                  .output,
              "none\n");
}

TEST_F(run_command, recursive_locks_have_the_format_of_redisson) {
    auto command = start({"run", "--kind", "recursive", "a", "--", "sh", "-c", "echo held; read x"});
    ASSERT_TRUE(command.wait_for_output("held", patience));
    EXPECT_EQ(server.command({"TYPE", "a"}).text, "hash");
    EXPECT_EQ(outcome_of(command).code, 1) << "read has found the end of its input";
    EXPECT_FALSE(is_held("a"));
}

TEST_F(run_command, readers_run_together_and_a_writer_runs_alone) {
    auto reader = start({"run", "-s", "a", "--", "sh", "-c", "echo reads; read x"});
    ASSERT_TRUE(reader.wait_for_output("reads", patience));
    EXPECT_EQ(server.command({"HGET", "a", "mode"}).text, "read");
    EXPECT_EQ(run({"run", "-n", "-s", "a", "--", "echo", "me too"}).output, "me too\n");
    EXPECT_EQ(run({"run", "-n", "-x", "a", "--", "true"}).code, 1);
    reader.close_input();
    EXPECT_EQ(outcome_of(reader).code, 1);
    auto writer = start({"run", "--kind", "shared", "-x", "a", "--", "sh", "-c", "echo writes; read x"});
    ASSERT_TRUE(writer.wait_for_output("writes", patience));
    EXPECT_EQ(run({"run", "-n", "-s", "a", "--", "true"}).code, 1);
}

TEST_F(run_command, waits_for_its_turn_on_a_fair_lock) {
    auto first = start({"run", "--kind", "fair", "a", "--", "sh", "-c", "echo held; read x"});
    ASSERT_TRUE(first.wait_for_output("held", patience));
    auto second = start({"run", "--kind", "fair", "a", "--", "echo", "my turn"});
    ASSERT_TRUE(eventually(patience, [&] {
        return server.command({"LLEN", "redisson_lock_queue:{a}"}).number == 1;
    }));
    first.close_input();
    EXPECT_EQ(outcome_of(second).output, "my turn\n");
}

TEST_F(run_command, command_receives_a_fence_of_redisson) {
    const auto fence = [&] {
        return std::stoull(
            run({"run", "--kind", "fenced", "a", "--", "sh", "-c", "echo $HOLDFAST_FENCE"}).output);
    };
    const auto first = fence();
    EXPECT_EQ(first, 1U);
    EXPECT_GT(fence(), first);
    EXPECT_GE(std::stoull(server.command({"GET", "redisson_lock_token:{a}"}).text), first);
}

TEST_F(run_command, permits_limit_the_commands_that_run) {
    const words held{"run",    "--permits", "1",  "--of", "2",
                     "render", "--",        "sh", "-c",   "echo held; read x; true"};
    auto one = start(held);
    auto two = start(held);
    ASSERT_TRUE(one.wait_for_output("held", patience));
    ASSERT_TRUE(two.wait_for_output("held", patience));
    EXPECT_EQ(run({"run", "-n", "--permits", "1", "render", "--", "true"}).code, 1);
    EXPECT_EQ(outcome_of(one).code, 0);
    EXPECT_EQ(run({"run", "-n", "--kind", "semaphore", "render", "--", "true"}).code, 0);
    // A killed run keeps its permit no longer than its lease.
    auto third = start({"run", "--ttl", lasting(4s), "--kind", "semaphore", "render", "--", "sh", "-c",
                        "echo held; read x"});
    ASSERT_TRUE(third.wait_for_output("held", patience));
    third.kill();
    EXPECT_EQ(run({"run", "-w", "60s", "--permits", "1", "render", "--", "true"}).code, 0);
}

TEST_F(run_command, wait_for_permits_that_are_not_set_is_reported) {
    auto waiter = start({"run", "--permits", "2", "render", "--", "true"});
    EXPECT_TRUE(waiter.wait_for_output("its number of permits is not set; give --of", patience));
    EXPECT_EQ(run({"run", "--of", "3", "render", "--", "true"}).code, 0);
    EXPECT_EQ(outcome_of(waiter).code, 0);
}

TEST_F(run_command, short_wait_for_permits_that_are_not_set_is_reported) {
    for (const words& limit_of : std::vector<words>{{"-n"}, {"-w", "2s"}, {"-n", "--kind", "permits"}}) {
        words all{"run", "--permits", "1"};
        all.insert(all.end(), limit_of.begin(), limit_of.end());
        all.insert(all.end(), {"render", "--", "true"});
        const auto ended = run(all);
        EXPECT_EQ(ended.code, 1);
        EXPECT_EQ(ended.errors,
                  "holdfast: did not acquire \"render\": its number of permits is not set; give --of\n");
    }
}

TEST_F(run_command, number_of_permits_that_the_server_lost_is_set_again) {
    server.command({"SET", "render", "0"});
    auto waiter = start({"run", "--permits", "2", "--of", "2", "--json-fd", "1", "render", "--", "true"});
    ASSERT_TRUE(waiter.wait_for_output("\"waiting\"", patience));
    server.command({"FLUSHALL"});
    const auto end = outcome_of(waiter);
    EXPECT_EQ(end.code, 0);
    EXPECT_EQ(end.errors, "");
    EXPECT_EQ(server.command({"GET", "render"}).text, "2");
}

TEST_F(run_command, input_and_output_belong_to_the_command) {
    auto command = start({"run", "a", "--", "cat"});
    command.write("through\n");
    EXPECT_EQ(outcome_of(command).output, "through\n");
}

// Prints which of the first ten descriptors are open.
constexpr auto show_descriptors =
    "for fd in 0 1 2 3 4 5 6 7 8 9; do if [ -e /proc/$$/fd/$fd ]; then echo $fd; fi; done";

TEST_F(run_command, command_inherits_one_descriptor_of_holdfast) {
    // 3 is the user's, 4 is for holdfast alone.
    auto command = start_shell("exec 3</dev/null 4>/dev/null; exec \"$0\" run --json-fd 4 a -- sh -c '" +
                               std::string{show_descriptors} + "; echo lost=$HOLDFAST_LOST_FD'");
    const auto seen = outcome_of(command);
    ASSERT_EQ(seen.code, 0) << seen.errors;
    const auto lost = seen.output.substr(seen.output.find("lost=") + 5);
    EXPECT_EQ(lost.size(), 2U) << "one digit: dash can redirect from no other; it is " << lost;
    EXPECT_EQ(seen.output, "0\n1\n2\n3\n" + lost + "lost=" + lost);
}

TEST_F(run_command, closed_standard_streams_stay_closed) {
    auto command = start_shell("exec \"$0\" run a -- sh -c '" + std::string{show_descriptors} +
                               "; echo $HOLDFAST_LOST_FD' 0<&- 2>&-");
    EXPECT_EQ(outcome_of(command).output, "1\n3\n3\n");
}

TEST_F(run_command, command_inherits_the_signal_state_of_the_caller) {
    const std::string show = "grep -E 'SigBlk|SigIgn' /proc/self/status";
    child_process plain{{"sh", "-c", "trap '' HUP; exec " + show}};
    auto command = start_shell("trap '' HUP; exec \"$0\" run a -- " + show);
    EXPECT_EQ(outcome_of(command).output, outcome_of(plain).output);
}

// --- signals ------------------------------------------------------------------------------------

TEST_F(run_command, signals_reach_the_command) {
    const std::vector<std::pair<int, std::string>> all{{SIGINT, "INT"},   {SIGTERM, "TERM"},
                                                       {SIGHUP, "HUP"},   {SIGQUIT, "QUIT"},
                                                       {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};
    for (const auto& [number, name] : all) {
        auto command = start(
            {"run", "a", "--", "sh", "-c",
             "trap 'echo got " + name + "; exit 5' " + name + "; echo ready; while :; do sleep 0.02; done"});
        ASSERT_TRUE(command.wait_for_output("ready", patience)) << name;
        command.signal(number);
        const auto ended = outcome_of(command);
        EXPECT_EQ(ended.code, 5) << name;
        EXPECT_EQ(ended.output, "ready\ngot " + name + "\n");
    }
    EXPECT_FALSE(is_held("a"));
}

TEST_F(run_command, signals_reach_the_descendants_of_the_command) {
    auto command = start({"run", "a", "--", "sh", "-c", "sleep 100 & echo \"sleeper: $!\"; wait"});
    const auto sleeper = printed_pid(command, "sleeper");
    ASSERT_NE(sleeper, 0);
    command.signal(SIGTERM);
    EXPECT_EQ(outcome_of(command).code, 128 + SIGTERM);
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(sleeper); }));
}

TEST_F(run_command, ignored_signal_stays_ignored) {
    auto command = start_shell("trap '' HUP; exec \"$0\" run a -- sh -c 'echo ready; read x; echo done'");
    ASSERT_TRUE(command.wait_for_output("ready", patience));
    command.signal(SIGHUP);
    command.write("\n");
    EXPECT_EQ(outcome_of(command).output, "ready\ndone\n");
}

TEST_F(run_command, killed_holdfast_ends_the_command) {
    auto command = start({"run", "a", "--", "sh", "-c", "echo \"pid: $$\"; exec sleep 100"});
    const auto pid = printed_pid(command, "pid");
    ASSERT_NE(pid, 0);
    command.kill();
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(pid); }));
    EXPECT_TRUE(is_held("a")) << "until its ttl is over";
}

// --- for programs -------------------------------------------------------------------------------

TEST_F(run_command, json_lists_the_events_in_order) {
    hold_as_another_client("a");
    auto command = start({"run", "--json-fd", "1", "--fenced", "a", "--", "sh", "-c", "exit 3"});
    ASSERT_TRUE(command.wait_for_output("\"waiting\"", patience));
    free_as_another_client("a");
    const auto events = events_in(outcome_of(command).output);
    words kinds;
    for (const auto& event : events) kinds.push_back(event["event"]);
    ASSERT_EQ(kinds, (words{"waiting", "acquired", "started", "exited", "released"}));
    EXPECT_EQ(events[0]["name"], "a");
    EXPECT_EQ(events[1]["name"], "a");
    EXPECT_TRUE(events[1]["owner"].is_string());
    EXPECT_GT(events[1]["fence"], 0);
    EXPECT_GE(events[1]["waited_ms"], 0);
    EXPECT_GT(events[2]["pid"], 0);
    EXPECT_EQ(events[3]["code"], 3);
    EXPECT_EQ(events[4]["outcome"], "released");
}

TEST_F(run_command, json_reader_that_does_not_read_delays_nothing) {
    const temp_dir folder;
    auto command = start_shell(full_pipe_in(folder) +
                               "\"$0\" run --json-fd 3 a -- sh -c 'exit 6'; code=$?; kill $!; exit $code");
    EXPECT_EQ(outcome_of(command).code, 6);
}

}  // namespace
}  // namespace holdfast::test::cli
