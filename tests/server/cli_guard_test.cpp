// The guard of `holdfast run`: what happens to a command and its descendants when `holdfast run` is killed or
// stopped.
#include "server/cli_guard_scene.hpp"
#include "support/background.hpp"
#include "support/send_signal.hpp"

#include <cerrno>
#include <filesystem>

#include <sched.h>

namespace holdfast::test::cli {
namespace {

TEST_F(guarded_command, dies_with_all_descendants_after_run_is_killed_while_the_lock_is_held) {
    for (int i = 0; i < 6; ++i) {
        auto command = start({"run", "--ttl", "8s", "--grace", "1s", "a", "--", "sh", "-c", family});
        const auto pids = pids_of(command, members);
        command.kill();
        ASSERT_TRUE(eventually(patience, [&] { return all_dead(pids); })) << "round " << i;
        ASSERT_TRUE(is_held("a"));
        free_as_another_client("a");
    }
}

TEST_F(guarded_command, of_a_killed_run_is_notified_by_term_and_by_the_pipe) {
    const temp_dir folder;
    const auto file = folder.path() / "notified";
    auto command =
        start({"run", "a", "--", "sh", "-c",
               "trap 'cat <&$HOLDFAST_LOST_FD; echo notified >\"$0\"; exit' TERM; echo \"pid: $$\"; "
               "while :; do sleep 0.02; done",
               file.string()});
    const auto pid = pid_of(command, "pid");
    command.kill();
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(pid); }));
    EXPECT_TRUE(std::filesystem::exists(file)) << "the pipe reaches its end, too";
}

// When it starts, the next holder prints the state of the first holder's processes. One that was killed and
// still waits for the processor runs no code of its own any more.
TEST_F(guarded_command, of_a_run_stopped_beyond_its_lease_is_dead_before_the_next_holder_starts) {
    for (int i = 0; i < 3; ++i) {
        auto command = start({"run", "--ttl", lasting(3s), "a", "--", "sh", "-c", family});
        const auto pids = pids_of(command, members);
        words next{"run",
                   "a",
                   "--",
                   "sh",
                   "-c",
                   "for p; do awk '/^State/ && $2 != \"Z\" { state = $2 } "
                   "/^(Sig|Shd)Pnd/ && substr($2, 14, 1) ~ /[13579bdf]/ { killed = 1 } "
                   "END { if (state && !killed) print \"alive\", state }' /proc/$p/status 2>/dev/null; done; "
                   "echo in",
                   "next"};
        for (const auto pid : pids) next.push_back(std::to_string(pid));
        command.pause();
        const auto seen = run(next);
        EXPECT_EQ(seen.output, "in\n");
        EXPECT_EQ(seen.code, 0);
        command.resume();
        const auto ended = outcome_of(command);
        EXPECT_EQ(ended.code, 75);
        EXPECT_NE(
            ended.errors.find("was not renewed in time, because this process was suspended or too slow; "
                              "the command was ended"),
            std::string::npos)
            << ended.errors;
    }
}

TEST_F(guarded_command, dies_with_all_descendants_before_run_exits_for_a_lost_lock) {
    auto command = start({"run", "--ttl", lasting(3s), "a", "--", "sh", "-c", family});
    const auto pids = pids_of(command, members);
    free_as_another_client("a");
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(all_dead(pids));
}

TEST_F(guarded_command, max_hold_keeps_the_lock_until_all_descendants_are_dead) {
    auto command = start({"run", "--max-hold", "2s", "--grace", "300ms", "a", "--", "sh", "-c", family});
    const auto pids = pids_of(command, members);
    ASSERT_TRUE(eventually(patience, [&] {
        const bool free = !is_held("a");
        EXPECT_TRUE(!free || all_dead(pids));
        return free;
    }));
    EXPECT_EQ(outcome_of(command).code, 75);
}

TEST_F(guarded_command, background_process_outlives_a_normal_exit_and_is_reported) {
    auto command = start({"run", "a", "--", "sh", "-c",
                          "exec sleep 100 >/dev/null 2>&1 </dev/null & echo \"left: $!\"; exit 3"});
    const auto left = pid_of(command, "left");
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 3);
    EXPECT_EQ(ended.errors, one_is_left_alone);
    EXPECT_FALSE(is_held("a"));
    EXPECT_FALSE(is_dead(left));
}

TEST_F(guarded_command, survives_a_killed_run_if_losses_are_ignored) {
    auto command = start({"run", "--on-loss", "ignore", "a", "--", "sh", "-c",
                          "echo \"pid: $$\"; exec sleep 100 >/dev/null 2>&1 </dev/null"});
    const auto pid = pid_of(command, "pid");
    const auto guard = parent_of(pid);
    ASSERT_NE(guard, command.pid());
    command.kill();
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(guard); }));
    EXPECT_FALSE(is_dead(pid));
}

TEST_F(guarded_command, guard_names_itself_in_the_process_list) {
    const auto seen =
        run({"run", "a", "b", "--", "sh", "-c", "tr '\\0' ' ' </proc/$PPID/cmdline; cat /proc/$PPID/comm"})
            .output;
    EXPECT_TRUE(
        seen.starts_with("holdfast: guard of \"a\" and \"b\", ends the command if the lock is lost: pid "))
        << seen;
    EXPECT_NE(seen.find("lock-guard"), std::string::npos) << seen;
}

TEST_F(guarded_command, guard_has_real_time_priority_if_allowed_and_the_command_has_not) {
    const bool allowed = in_background([] {
                             const sched_param lowest{.sched_priority = 1};
                             return ::sched_setscheduler(0, SCHED_RR, &lowest) == 0;  // of that thread only
                         }).get();
    auto command = start({"run", "a", "--", "sh", "-c", "echo \"pid: $$\"; read x"});
    const auto pid = pid_of(command, "pid");
    EXPECT_EQ(::sched_getscheduler(parent_of(pid)) & ~SCHED_RESET_ON_FORK, allowed ? SCHED_RR : SCHED_OTHER);
    EXPECT_EQ(::sched_getscheduler(pid), SCHED_OTHER);
    command.write("\n");
    EXPECT_EQ(outcome_of(command).code, 0);
}

TEST_F(guarded_command, guard_ignores_signals) {
    auto command = start({"run", "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 5"});
    const auto guard = parent_of(pid_of(command, "pid"));
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM, SIGTSTP, SIGTTIN, SIGPIPE})
        send_signal(guard, signal);
    command.write("\n");
    EXPECT_EQ(outcome_of(command).code, 5);
    EXPECT_TRUE(is_dead(guard));
}

TEST_F(guarded_command, without_its_guard_is_killed_with_descendants_before_the_lock_is_free) {
    for (const auto* const policy : {"term", "ignore"}) {
        auto command = start({"run", "--on-loss", policy, "a", "--", "sh", "-c", family});
        const auto pids = pids_of(command, members);
        send_signal(parent_of(pids.front()), SIGKILL);
        ASSERT_TRUE(eventually(patience, [&] {
            const bool free = !is_held("a");
            EXPECT_TRUE(!free || all_dead(pids)) << policy;
            return free;
        }));
        const auto ended = outcome_of(command);
        EXPECT_EQ(ended.code, 128 + SIGKILL);
        EXPECT_EQ(ended.errors,
                  "holdfast: the guard process was killed, so the command and all that it started are "
                  "killed, too\n");
    }
}

TEST_F(guarded_command, run_without_a_guard_spares_what_was_started_before_its_exec) {
    auto command = start_shell(
        "sleep 100 >/dev/null 2>&1 & echo \"before: $!\"; "
        "exec \"$0\" run a -- sh -c 'echo \"pid: $$\"; exec sleep 100'");
    const auto before = pid_of(command, "before");
    const auto pid = pid_of(command, "pid");
    send_signal(parent_of(pid), SIGKILL);
    EXPECT_EQ(outcome_of(command).code, 128 + SIGKILL);
    EXPECT_TRUE(is_dead(pid));
    EXPECT_FALSE(is_dead(before));
}

TEST_F(guarded_command, run_without_a_guard_spares_orphans_of_its_other_children) {
    auto command = start_shell(
        "exec 3<&0; (read x <&3; sleep 100 >/dev/null 2>&1 & echo \"later: $!\") & "
        "exec \"$0\" run a -- sh -c 'echo \"pid: $$\"; exec sleep 100'");
    const auto pid = pid_of(command, "pid");
    command.write("\n");
    const auto later = pid_of(command, "later");
    EXPECT_TRUE(eventually(patience, [&] { return parent_of(later) == command.pid(); }));
    send_signal(parent_of(pid), SIGKILL);
    EXPECT_EQ(outcome_of(command).code, 128 + SIGKILL);
    EXPECT_TRUE(is_dead(pid));
    EXPECT_FALSE(is_dead(later));
}

TEST_F(guarded_command, that_has_ended_leaves_no_zombies_while_run_holds_its_lock) {
    auto command = start({"run", "--at-least", "10m", "a", "--", "sh", "-c",
                          "exec 3<&0; (read x <&3) >/dev/null 2>&1 & echo \"left: $!\"; echo \"pid: $$\""});
    const auto left = pid_of(command, "left");
    const auto pid = pid_of(command, "pid");
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(pid); }));
    command.write("\n");
    EXPECT_TRUE(eventually(patience, [&] { return send_signal(left, 0) != 0 && errno == ESRCH; }));
    command.signal(SIGTERM);
    EXPECT_EQ(outcome_of(command).code, 128 + SIGTERM);
}

// --- a run that does not read -------------------------------------------------------------------

TEST_F(guarded_command, whose_stops_fill_the_link_to_a_stopped_run_keeps_its_exit_code) {
    auto command = start({"run", "--ttl", "10m", "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 7"});
    const auto pid = pid_of(command, "pid");
    const auto guard = parent_of(pid);
    command.pause();
    // The link holds fewer than 300.
    for (int i = 0; i < 1000; ++i) {
        send_signal(pid, SIGSTOP);
        ASSERT_TRUE(eventually(patience, [&] { return is_stopped(pid) && is_asleep(guard); }));
        send_signal(pid, SIGCONT);
        ASSERT_TRUE(eventually(patience, [&] { return !is_stopped(pid); }));
    }
    command.write("\n");
    ASSERT_TRUE(eventually(patience, [&] { return is_dead(pid) && is_asleep(guard); }));
    command.resume();
    EXPECT_EQ(outcome_of(command).code, 7);
}

// --- a command that is stopped ------------------------------------------------------------------

// In a process group that is not orphaned, where a stop signal would stop run, and without a terminal. The
// lease is long enough for a machine on which a process waits for seconds.
constexpr auto as_a_job_without_a_terminal =
    "exec setsid -w bash -c 'set -m; \"$0\" run --ttl 15s a -- sh -c "
    "\"echo \\\"pid: \\$\\$\\\"; exec sleep 100\" & echo \"run: $!\"; wait $!; echo \"code=$?\"' \"$0\"";

TEST_F(guarded_command, that_is_stopped_without_a_terminal_keeps_its_lock) {
    for (const int signal : {SIGSTOP, SIGTSTP}) {
        auto command = start_shell(as_a_job_without_a_terminal);
        const auto holdfast = pid_of(command, "run");
        const auto pid = pid_of(command, "pid");
        // Once is nearly always enough. What matters is that it stays stopped.
        ASSERT_TRUE(eventually(patience,
                               [&] {
                                   send_signal(pid, signal);
                                   return is_stopped(pid);
                               }))
            << "signal " << signal << ", state " << line_of(pid, "State:") << ", blocked "
            << line_of(pid, "SigBlk:") << ", ignored " << line_of(pid, "SigIgn:") << ", its group "
            << ::getpgid(pid) << ", its session " << ::getsid(pid) << ", parent " << line_of(pid, "PPid:")
            << '\n'
            << command.output() << command.errors();
        for (int i = 0; i < 2; ++i) {
            ASSERT_TRUE(is_renewed())
                << "after signal " << signal << ", time left " << server.command({"PTTL", "a"}).number
                << " ms, run " << line_of(holdfast, "State:") << ", guard "
                << line_of(parent_of(pid), "State:") << ", the command " << line_of(pid, "State:") << '\n'
                << command.output() << command.errors();
            EXPECT_FALSE(is_stopped(holdfast));
        }
        EXPECT_TRUE(is_stopped(pid));
        send_signal(holdfast, SIGCONT);
        EXPECT_TRUE(eventually(patience, [&] { return !is_stopped(pid); })) << "CONT is forwarded";
        send_signal(holdfast, SIGTERM);
        EXPECT_TRUE(command.wait_for_output("code=143", patience)) << command.output();
    }
}

TEST_F(guarded_command, that_is_stopped_obeys_signals_that_end_it) {
    for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
        auto command = start_shell(as_a_job_without_a_terminal);
        const auto holdfast = pid_of(command, "run");
        const auto pid = pid_of(command, "pid");
        send_signal(pid, SIGSTOP);
        ASSERT_TRUE(eventually(patience, [&] { return is_stopped(pid); }));
        ASSERT_TRUE(is_renewed());  // by now the guard has reported the stop
        send_signal(holdfast, signal);
        EXPECT_TRUE(command.wait_for_output("code=" + std::to_string(128 + signal), patience))
            << command.output();
    }
}

TEST_F(guarded_command, that_is_stopped_is_ended_when_its_lock_is_lost) {
    auto command = start_shell(as_a_job_without_a_terminal);
    const auto pid = pid_of(command, "pid");
    send_signal(pid, SIGSTOP);
    ASSERT_TRUE(eventually(patience, [&] { return is_stopped(pid); }));
    server.command({"DEL", "a"});
    EXPECT_TRUE(command.wait_for_output("code=75", patience)) << command.output() << command.errors();
    EXPECT_TRUE(is_dead(pid));
}

// --- a command that has ended -------------------------------------------------------------------

TEST_F(guarded_command, that_failed_in_time_keeps_its_exit_code_if_run_was_stopped_too_long) {
    auto command =
        start({"run", "--ttl", lasting(5s), "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 7"});
    const auto pid = pid_of(command, "pid");
    command.pause();
    command.write("\n");
    ASSERT_TRUE(eventually(patience, [&] { return is_dead(pid); }));
    ASSERT_TRUE(eventually(patience, [&] { return !is_held("a"); }));
    command.resume();
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 7);
    // A line that reports the loss itself may precede it, if the loss comes during the release.
    EXPECT_TRUE(ended.errors.ends_with("holdfast: the lock \"a\" was lost after the command had ended\n"))
        << ended.errors;
}

}  // namespace
}  // namespace holdfast::test::cli
