// The guard of `holdfast run`: what becomes of a command, and of all that it started, when `holdfast run` is
// killed or stopped.
#include "server/cli_scene.hpp"
#include "server/scene.hpp"

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>

namespace holdfast::test::cli {
namespace {

class guarded_command : public command_test {
  protected:
    // Kills what a failed test has left behind.
    ~guarded_command() override {
        for (const auto pid : told_) {
            if (pid > 0 && !is_dead(pid)) ::kill(pid, SIGKILL);
        }
    }
    pid_t told(child_process& command, const std::string& name) {
        told_.push_back(pid_told(command, name));
        EXPECT_GT(told_.back(), 0) << name << command.errors();
        return told_.back();
    }
    std::vector<pid_t> all_told(child_process& command, const words& names) {
        std::vector<pid_t> all;
        for (const auto& name : names) all.push_back(told(command, name));
        return all;
    }
    [[nodiscard]] bool is_renewed() {
        auto left = server.command({"PTTL", "a"}).number;
        return eventually(patience, [&] {
            const auto before = std::exchange(left, server.command({"PTTL", "a"}).number);
            return left > before;
        });
    }

  private:
    std::vector<pid_t> told_;
};

std::string line_of(pid_t pid, const std::string& field) {
    std::ifstream about{"/proc/" + std::to_string(pid) + "/status"};
    for (std::string line; std::getline(about, line);) {
        if (line.starts_with(field)) return line.substr(field.size());
    }
    return {};
}
pid_t parent_of(pid_t pid) { return std::atoi(line_of(pid, "PPid:").c_str()); }
bool is_asleep(pid_t pid) { return line_of(pid, "State:").find('S') != std::string::npos; }
bool is_stopped(pid_t pid) { return line_of(pid, "State:").find('T') != std::string::npos; }

// Goes wherever a process can go: to another session, to another parent, and does not listen.
constexpr auto family =
    "echo \"main: $$\"; sleep 100 & echo \"plain: $!\"; "
    "setsid sleep 100 & echo \"session: $!\"; "
    "(trap '' TERM; exec sleep 100) & echo \"deaf: $!\"; "
    "(setsid sh -c 'echo \"orphan: $$\"; sleep 100 & echo \"inner: $!\"; wait' &); "
    "wait";
const words members{"main", "plain", "session", "deaf", "orphan", "inner"};

bool all_dead(const std::vector<pid_t>& pids) { return std::ranges::all_of(pids, is_dead); }

TEST_F(guarded_command, killed_run_leaves_nothing_of_it_and_the_lock_is_held_until_then) {
    for (int i = 0; i < 6; ++i) {
        auto command = start({"run", "--ttl", "8s", "--grace", "1s", "a", "--", "sh", "-c", family});
        const auto pids = all_told(command, members);
        command.kill();
        ASSERT_TRUE(eventually(patience, [&] { return all_dead(pids); })) << "round " << i;
        ASSERT_TRUE(is_held("a"));
        free_as_another_client("a");
    }
}

TEST_F(guarded_command, command_of_a_killed_run_is_told_by_term_and_by_the_pipe) {
    const temp_dir folder;
    const auto file = folder.path() / "told";
    auto command = start({"run", "a", "--", "sh", "-c",
                          "trap 'cat <&$HOLDFAST_LOST_FD; echo told >\"$0\"; exit' TERM; echo \"pid: $$\"; "
                          "while :; do sleep 0.02; done",
                          file.string()});
    const auto pid = told(command, "pid");
    command.kill();
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(pid); }));
    EXPECT_TRUE(std::filesystem::exists(file)) << "the pipe has an end, too";
}

// The next holder says in which state the processes of the first are when it begins.
TEST_F(guarded_command, run_that_is_stopped_for_longer_than_the_lease_has_no_command_beside_the_next_holder) {
    for (int i = 0; i < 3; ++i) {
        auto command = start({"run", "--ttl", "3s", "a", "--", "sh", "-c", family});
        const auto pids = all_told(command, members);
        words next{
            "run",
            "a",
            "--",
            "sh",
            "-c",
            "for p; do sed -n 's/^State:.\\([^Z]\\)/alive \\1/p' /proc/$p/status 2>/dev/null; done; echo in",
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
            ended.errors.find("was not renewed in time, because this process stood still; the command was "
                              "ended"),
            std::string::npos)
            << ended.errors;
    }
}

TEST_F(guarded_command, all_that_it_started_is_gone_before_run_ends_for_a_lost_lock) {
    auto command = start({"run", "--ttl", "3s", "a", "--", "sh", "-c", family});
    const auto pids = all_told(command, members);
    free_as_another_client("a");
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(all_dead(pids));
}

TEST_F(guarded_command, max_hold_keeps_the_lock_until_all_that_it_started_is_gone) {
    auto command = start({"run", "--max-hold", "2s", "--grace", "300ms", "a", "--", "sh", "-c", family});
    const auto pids = all_told(command, members);
    ASSERT_TRUE(eventually(patience, [&] {
        const bool free = !is_held("a");
        EXPECT_TRUE(!free || all_dead(pids));
        return free;
    }));
    EXPECT_EQ(outcome_of(command).code, 75);
}

TEST_F(guarded_command, what_it_leaves_behind_in_good_order_is_left_alone_and_mentioned) {
    auto command = start({"run", "a", "--", "sh", "-c",
                          "exec sleep 100 >/dev/null 2>&1 </dev/null & echo \"left: $!\"; exit 3"});
    const auto left = told(command, "left");
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 3);
    EXPECT_EQ(ended.errors,
              "holdfast: 1 process that the command started is still running, without the lock\n");
    EXPECT_FALSE(is_held("a"));
    EXPECT_FALSE(is_dead(left));
}

TEST_F(guarded_command, goes_on_when_run_is_killed_if_a_loss_is_to_be_ignored) {
    auto command = start({"run", "--on-loss", "ignore", "a", "--", "sh", "-c",
                          "echo \"pid: $$\"; exec sleep 100 >/dev/null 2>&1 </dev/null"});
    const auto pid = told(command, "pid");
    const auto guard = parent_of(pid);
    ASSERT_NE(guard, command.pid());
    command.kill();
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(guard); }));
    EXPECT_FALSE(is_dead(pid));
}

TEST_F(guarded_command, guard_says_in_the_list_of_processes_what_it_is) {
    const auto seen =
        run({"run", "a", "b", "--", "sh", "-c", "tr '\\0' ' ' </proc/$PPID/cmdline; cat /proc/$PPID/comm"})
            .output;
    EXPECT_TRUE(seen.starts_with("holdfast: guard of \"a\" and \"b\", which ends it without the lock: pid "))
        << seen;
    EXPECT_NE(seen.find("lock-guard"), std::string::npos) << seen;
}

TEST_F(guarded_command, guard_takes_no_signal) {
    auto command = start({"run", "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 5"});
    const auto guard = parent_of(told(command, "pid"));
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM, SIGTSTP, SIGTTIN, SIGPIPE})
        ::kill(guard, signal);
    command.write("\n");
    EXPECT_EQ(outcome_of(command).code, 5);
    EXPECT_TRUE(is_dead(guard));
}

TEST_F(guarded_command, without_its_guard_it_is_killed_with_all_that_it_started_before_the_lock_is_free) {
    for (const auto* const policy : {"term", "ignore"}) {
        auto command = start({"run", "--on-loss", policy, "a", "--", "sh", "-c", family});
        const auto pids = all_told(command, members);
        ::kill(parent_of(pids.front()), SIGKILL);
        ASSERT_TRUE(eventually(patience, [&] {
            const bool free = !is_held("a");
            EXPECT_TRUE(!free || all_dead(pids)) << policy;
            return free;
        }));
        const auto ended = outcome_of(command);
        EXPECT_EQ(ended.code, 128 + SIGKILL);
        EXPECT_EQ(ended.errors,
                  "holdfast: the guard of the command was killed, and so are the command and all that it "
                  "started\n");
    }
}

TEST_F(guarded_command, without_its_guard_leaves_alone_what_run_had_started_as_another_program) {
    auto command = start_shell(
        "sleep 100 >/dev/null 2>&1 & echo \"before: $!\"; "
        "exec \"$0\" run a -- sh -c 'echo \"pid: $$\"; exec sleep 100'");
    const auto before = told(command, "before");
    const auto pid = told(command, "pid");
    ::kill(parent_of(pid), SIGKILL);
    EXPECT_EQ(outcome_of(command).code, 128 + SIGKILL);
    EXPECT_TRUE(is_dead(pid));
    EXPECT_FALSE(is_dead(before));
}

TEST_F(guarded_command, without_its_guard_leaves_alone_what_another_child_of_run_has_left_behind) {
    auto command = start_shell(
        "exec 3<&0; (read x <&3; sleep 100 >/dev/null 2>&1 & echo \"later: $!\") & "
        "exec \"$0\" run a -- sh -c 'echo \"pid: $$\"; exec sleep 100'");
    const auto pid = told(command, "pid");
    command.write("\n");
    const auto later = told(command, "later");
    EXPECT_TRUE(eventually(patience, [&] { return parent_of(later) == command.pid(); }));
    ::kill(parent_of(pid), SIGKILL);
    EXPECT_EQ(outcome_of(command).code, 128 + SIGKILL);
    EXPECT_TRUE(is_dead(pid));
    EXPECT_FALSE(is_dead(later));
}

TEST_F(guarded_command, that_has_ended_leaves_no_zombies_while_run_still_holds_its_lock) {
    auto command = start({"run", "--at-least", "10m", "a", "--", "sh", "-c",
                          "exec 3<&0; (read x <&3) >/dev/null 2>&1 & echo \"left: $!\"; echo \"pid: $$\""});
    const auto left = told(command, "left");
    const auto pid = told(command, "pid");
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(pid); }));
    command.write("\n");
    EXPECT_TRUE(eventually(patience, [&] { return ::kill(left, 0) != 0 && errno == ESRCH; }));
    command.signal(SIGTERM);
    EXPECT_EQ(outcome_of(command).code, 128 + SIGTERM);
}

// --- what is hard to find -----------------------------------------------------------------------

// Whatever process has this word in its command line.
std::vector<pid_t> alive_with(const std::string& mark) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
        const auto pid = std::atoi(entry.path().filename().c_str());
        if (pid == 0 || is_dead(pid)) continue;
        const auto line = command_line_of(pid);
        if (line.find(mark) != std::string::npos && line.find(HOLDFAST_COMMAND) == std::string::npos &&
            !line.starts_with("holdfast: guard of"))
            found.push_back(pid);
    }
    return found;
}

// A command that is deaf to TERM, and of which one process after the other goes to a session of its own,
// starts the next and ends. Nobody can end it by hand, so it ends with its file, or after some minutes: a
// test that failed must not leave it behind.
class storm {
  public:
    [[nodiscard]] std::string mark() const { return (folder_.path() / "storm").string(); }
    // Seldom is one of them seen in between two others.
    [[nodiscard]] bool is_over() const {
        for (int i = 0; i < 20; ++i) {
            if (!alive_with(mark()).empty()) return false;
        }
        return true;
    }
    [[nodiscard]] words command() const {
        std::ofstream{mark()} << "import os, sys, time\n"
                                 "end = time.time() + 300\n"
                                 "while os.path.exists(sys.argv[0]) and time.time() < end:\n"
                                 "  if os.fork(): os._exit(0)\n"
                                 "  os.setsid()\n";
        return {"sh", "-c",
                "trap '' TERM; python3 \"$0\" >/dev/null 2>&1 & echo \"pid: $$\"; "
                "while test -e \"$0\"; do sleep 0.02; done",
                mark()};
    }

  private:
    temp_dir folder_;
};

TEST_F(guarded_command, that_starts_processes_all_the_time_is_gone_before_the_lease_of_a_stopped_run_ends) {
    const storm started;
    words arguments{"run", "--ttl", "4s", "a", "--"};
    for (const auto& word : started.command()) arguments.push_back(word);
    auto command = start(arguments);
    const auto pid = told(command, "pid");
    command.pause();
    ASSERT_TRUE(eventually(patience, [&] { return !is_held("a"); }));
    EXPECT_TRUE(is_dead(pid));
    // For the last KILL the guard has 200 ms. Under a sanitizer a look at all processes takes a part of that,
    // and a busy machine may keep it from using them.
    EXPECT_TRUE(started.is_over() || slower > 1 || taken_by_the_machine() > 100ms);
    EXPECT_TRUE(eventually(patience, [&] { return started.is_over(); }));
    command.resume();
    EXPECT_EQ(outcome_of(command).code, 75);
}

TEST_F(guarded_command, that_starts_processes_all_the_time_is_gone_before_run_ends) {
    const storm started;
    words arguments{"run", "--max-hold", "500ms", "--grace", "200ms", "a", "--"};
    for (const auto& word : started.command()) arguments.push_back(word);
    auto command = start(arguments);
    const auto pid = told(command, "pid");
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(is_dead(pid));
    EXPECT_TRUE(started.is_over());
}

TEST_F(guarded_command, what_another_of_its_threads_has_started_is_ended_too) {
    auto command = start({"run", "a", "--", "python3", "-c",
                          "import subprocess, threading, time\n"
                          "def work():\n"
                          "  p = subprocess.Popen(['setsid', 'sleep', '100'])\n"
                          "  print('child: %d' % p.pid, flush=True)\n"
                          "  time.sleep(100)\n"
                          "threading.Thread(target=work).start()\n"
                          "time.sleep(100)\n"});
    const auto child = told(command, "child");
    command.kill();
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(child); }));
}

bool can_unshare() {
    return child_process{{"unshare", "--pid", "--mount", "--fork", "true"}}.wait(patience) == 0;
}

TEST_F(guarded_command, what_goes_on_after_its_main_thread_has_ended_is_ended_too) {
    auto command = start({"run", "--ttl", "3s", "--grace", "100ms", "a", "--", "python3", "-c",
                          "import ctypes, os, threading, time\n"
                          "if os.fork(): time.sleep(100)\n"
                          "os.setsid()\n"
                          "def work():\n"
                          "  while open('/proc/self/stat').read().rsplit(')')[1][1] != 'Z': pass\n"
                          "  print('pid: %d' % os.getpid(), flush=True)\n"
                          "  time.sleep(100)\n"
                          "threading.Thread(target=work).start()\n"
                          "ctypes.CDLL(None).pthread_exit(None)\n"});
    const auto pid = told(command, "pid");
    free_as_another_client("a");
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(is_dead(pid));
}

// How often it went to sleep.
[[maybe_unused]] long rests_of(pid_t pid) {
    return std::atol(line_of(pid, "voluntary_ctxt_switches:").c_str());
}

#if !defined(__SANITIZE_ADDRESS__)  // undefined-behaviour sanitizer needs descriptors of its own
TEST_F(guarded_command, is_not_taken_for_dead_by_a_guard_that_cannot_look_for_it) {
    auto command = start({"run", "--ttl", "3s", "a", "--", "sh", "-c",
                          "setsid sleep 100 & echo \"session: $!\"; echo \"main: $$\"; wait"});
    const auto pids = all_told(command, {"session", "main"});
    const auto guard = parent_of(pids.back());
    rlimit before{};
    ASSERT_EQ(::prlimit(guard, RLIMIT_NOFILE, nullptr, &before), 0);
    const rlimit none{.rlim_cur = 4, .rlim_max = before.rlim_max};  // poll() wants some
    ASSERT_EQ(::prlimit(guard, RLIMIT_NOFILE, &none, nullptr), 0);
    free_as_another_client("a");
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(pids.back()); }));
    const auto looks = rests_of(guard);
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(guard) || rests_of(guard) > looks + 20; }));
    EXPECT_TRUE(command.running());
    EXPECT_EQ(::prlimit(guard, RLIMIT_NOFILE, &before, nullptr), 0);
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(all_dead(pids));
}
#endif

// A program that may take the rights of another user, as sudo may.
constexpr auto as_another_user =
    "cp \"$(command -v setpriv)\" \"$1/other\" && chmod 4755 \"$1/other\" && chmod 711 \"$1\" && "
    "exec setpriv --reuid 65533 --clear-groups \"$0\" run --max-hold 1s --grace 100ms a -- "
    "\"$1/other\" --reuid 65532 sh -c 'echo \"pid: $$\"; exec sleep 100'";

TEST_F(guarded_command, of_another_user_is_waited_for_and_that_is_said) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs the right to become another user";
    const temp_dir folder;
    child_process command{{"sh", "-c", as_another_user, HOLDFAST_COMMAND, folder.path().string()},
                          {{"HOLDFAST_URL", server.url()}}};
    const auto pid = told(command, "pid");
    EXPECT_TRUE(
        command.wait_for_output("1 process of another user cannot be ended, and is waited for", patience))
        << command.errors();
    EXPECT_TRUE(is_held("a"));
    ::kill(pid, SIGKILL);
    EXPECT_EQ(outcome_of(command).code, 75);
}

// In a namespace of its own, to which the numbers of /proc mean nothing.
TEST_F(guarded_command, is_ended_with_its_group_where_proc_is_not_its_own_and_that_is_said) {
    if (!can_unshare()) GTEST_SKIP() << "needs the right to make namespaces";
    const temp_dir folder;
    const auto mark = (folder.path() / "plain").string();
    child_process command{
        {"unshare", "--pid", "--fork", "--kill-child", "sh", "-c",
         "\"$0\" run --max-hold 500ms --grace 200ms a -- sh -c '"
         "trap \"\" TERM; sh -c \"while :; do sleep 0.1; done\" \"$0\" & wait; wait' \"$1\"; "
         "echo \"code=$?\"; read x",
         HOLDFAST_COMMAND, mark},
        {{"HOLDFAST_URL", server.url()}}};
    ASSERT_TRUE(command.wait_for_output("code=75", patience)) << command.output() << command.errors();
    EXPECT_TRUE(eventually(patience, [&] { return alive_with(mark).empty(); }));
    EXPECT_TRUE(command.wait_for_output("/proc cannot be read", patience)) << command.errors();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they read /proc themselves
TEST_F(guarded_command, is_guarded_where_proc_is_not_mounted) {
    if (!can_unshare()) GTEST_SKIP() << "needs the right to make namespaces";
    child_process command{{"unshare", "--mount", "sh", "-c",
                           "umount -l /proc && exec \"$0\" run a -- sh -c 'sleep 100 & echo \"plain: $!\"; "
                           "echo \"pid: $$\"; wait'",
                           HOLDFAST_COMMAND},
                          {{"HOLDFAST_URL", server.url()}}};
    const auto plain = told(command, "plain");
    const auto pid = told(command, "pid");
    command.kill();
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(pid) && is_dead(plain); }));
}
#endif

// --- a guard that stands still -----------------------------------------------------------------

TEST_F(guarded_command, passes_its_status_on_though_somebody_stops_its_guard) {
    auto command = start({"run", "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 5"});
    const auto guard = parent_of(told(command, "pid"));
    ::kill(guard, SIGSTOP);
    command.write("\n");
    EXPECT_EQ(outcome_of(command).code, 5);
    EXPECT_TRUE(is_dead(guard));
}

TEST_F(guarded_command, is_ended_with_all_that_it_started_though_somebody_stops_its_guard) {
    auto command = start({"run", "--ttl", "3s", "a", "--", "sh", "-c", family});
    const auto pids = all_told(command, members);
    ::kill(parent_of(pids.front()), SIGSTOP);
    free_as_another_client("a");
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(all_dead(pids));
}

// Stands still as under a debugger, of which its parent learns nothing, until the end of this object.
class held_up {
  public:
    explicit held_up(pid_t process) : process_(process) {
        EXPECT_EQ(::ptrace(PTRACE_SEIZE, process, nullptr, nullptr), 0);
        EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, process, nullptr, nullptr), 0);
        int status = 0;
        EXPECT_EQ(::waitpid(process, &status, __WALL), process);
        EXPECT_TRUE(WIFSTOPPED(status));
    }
    held_up(const held_up&) = delete;
    held_up& operator=(const held_up&) = delete;
    ~held_up() { ::ptrace(PTRACE_DETACH, process_, nullptr, nullptr); }
    // Its parent learns of the end only then.
    [[nodiscard]] bool is_killed() const {
        int status = 0;
        return eventually(patience,
                          [&] { return ::waitpid(process_, &status, __WALL | WNOHANG) == process_; }) &&
               WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }

  private:
    pid_t process_;
};

TEST_F(guarded_command, is_ended_with_all_that_it_started_by_run_in_place_of_a_guard_that_stands_still) {
    auto command = start({"run", "--ttl", "3s", "a", "--", "sh", "-c", family});
    const auto pids = all_told(command, members);
    const held_up guard{parent_of(pids.front())};
    free_as_another_client("a");
    EXPECT_TRUE(guard.is_killed());
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(all_dead(pids));
}

TEST_F(guarded_command, passes_its_status_on_though_its_guard_stands_still) {
    auto command = start({"run", "--ttl", "3s", "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 5"});
    const held_up guard{parent_of(told(command, "pid"))};
    command.write("\n");
    EXPECT_TRUE(guard.is_killed());
    EXPECT_EQ(outcome_of(command).code, 5);
}

TEST_F(guarded_command, goes_on_when_its_guard_wakes_after_a_deadline_that_was_moved_meanwhile) {
    auto command = start({"run", "--ttl", "2s", "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 5"});
    {
        const held_up guard{parent_of(told(command, "pid"))};
        for (int i = 0; i < 8; ++i) ASSERT_TRUE(is_renewed());
    }
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_renewed());
    command.write("\n");
    EXPECT_EQ(outcome_of(command).code, 5);
}

// --- a guard that cannot be started -------------------------------------------------------------

// The next process that this one forks is killed before it does anything.
bool kill_next_fork_of(pid_t process, const std::function<void()>& make_it_fork) {
    constexpr auto options = static_cast<long>(PTRACE_O_TRACEFORK);
    if (::ptrace(PTRACE_SEIZE, process, nullptr, options) != 0) return false;
    make_it_fork();
    int status = 0;
    const auto forks = [&] { return status >> 8 == (SIGTRAP | (PTRACE_EVENT_FORK << 8)); };
    while (!forks()) {
        const auto changes = [&] { return ::waitpid(process, &status, __WALL | WNOHANG) == process; };
        if (!eventually(patience, changes) || !WIFSTOPPED(status)) return false;
        if (!forks()) ::ptrace(PTRACE_CONT, process, nullptr, nullptr);
    }
    unsigned long forked = 0;
    ::ptrace(PTRACE_GETEVENTMSG, process, nullptr, &forked);
    ::kill(static_cast<pid_t>(forked), SIGKILL);
    while (::waitpid(static_cast<pid_t>(forked), &status, __WALL) > 0 && !WIFSIGNALED(status)) {
    }
    return ::ptrace(PTRACE_DETACH, process, nullptr, nullptr) == 0;
}

TEST_F(guarded_command, does_not_begin_if_its_guard_is_killed_at_birth_and_that_is_said) {
    hold_as_another_client("a");
    auto command = start({"run", "-v", "a", "--", "true"});
    ASSERT_TRUE(command.wait_for_output("waiting for", patience)) << command.errors();
    ASSERT_TRUE(kill_next_fork_of(command.pid(), [&] { free_as_another_client("a"); }));
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 70);
    EXPECT_NE(
        ended.errors.find("the guard of the command, without which it must not run, cannot be started\n"),
        std::string::npos)
        << ended.errors;
    EXPECT_FALSE(is_held("a"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they do not live with so little memory
TEST_F(guarded_command, keeps_its_lock_when_run_cannot_go_on_for_want_of_memory) {
    auto command = start({"run", "--ttl", "10m", "--grace", "1m", "a", "--", "sh", "-c",
                          "trap '' TERM; echo \"pid: $$\"; while :; do sleep 0.1; done"},
                         // Each piece of memory is asked for anew, none is kept.
                         {{"GLIBC_TUNABLES",
                           "glibc.malloc.mmap_threshold=1:glibc.malloc.arena_max=1:"
                           "glibc.malloc.tcache_count=0"}});
    const auto pid = told(command, "pid");
    const rlimit none{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    ASSERT_EQ(::prlimit(command.pid(), RLIMIT_AS, &none, nullptr), 0);
    command.signal(SIGCONT);  // to have something to do
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 70);
    EXPECT_EQ(ended.errors,
              "holdfast: std::bad_alloc: the command is left to its guard, and the lock runs out\n");
    EXPECT_TRUE(is_held("a"));
    EXPECT_FALSE(is_dead(pid));
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need descriptors of their own
TEST_F(guarded_command, does_not_begin_where_descriptors_are_missing_for_its_guard_and_one_line_says_so) {
    bool reached_the_guard = false;
    for (int limit = 12; limit < 48; ++limit) {
        child_process command{{"sh", "-c", "ulimit -n $1; exec \"$0\" run -n a -- true", HOLDFAST_COMMAND,
                               std::to_string(limit)},
                              {{"HOLDFAST_URL", server.url()}}};
        const auto ended = outcome_of(command);
        EXPECT_FALSE(is_held("a")) << limit;
        if (ended.code == 0) continue;
        EXPECT_EQ(std::ranges::count(ended.errors, '\n'), 1) << limit << ended.errors;
        const bool names_it = ended.errors.find(
                                  "the guard of the command, without which it must not run, cannot "
                                  "be started: Too many open files") != std::string::npos;
        EXPECT_TRUE(names_it || !reached_the_guard) << limit << ended.errors;
        reached_the_guard = reached_the_guard || names_it;
    }
    EXPECT_TRUE(reached_the_guard);
}
#endif

// --- a run that does not listen -----------------------------------------------------------------

TEST_F(guarded_command, whose_stops_fill_the_link_to_a_stopped_run_still_passes_its_status_on) {
    auto command = start({"run", "--ttl", "10m", "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 7"});
    const auto pid = told(command, "pid");
    const auto guard = parent_of(pid);
    command.pause();
    // It holds less than 300.
    for (int i = 0; i < 1000; ++i) {
        ::kill(pid, SIGSTOP);
        ASSERT_TRUE(eventually(patience, [&] { return is_stopped(pid) && is_asleep(guard); }));
        ::kill(pid, SIGCONT);
        ASSERT_TRUE(eventually(patience, [&] { return !is_stopped(pid); }));
    }
    command.write("\n");
    ASSERT_TRUE(eventually(patience, [&] { return is_dead(pid) && is_asleep(guard); }));
    command.resume();
    EXPECT_EQ(outcome_of(command).code, 7);
}

// --- a command that is stopped ------------------------------------------------------------------

// In a process group that is not orphaned, where a stop signal would stop run, and without a terminal.
constexpr auto as_a_job_without_a_terminal =
    "exec setsid -w bash -c 'set -m; \"$0\" run --ttl 2s a -- sh -c "
    "\"echo \\\"pid: \\$\\$\\\"; exec sleep 100\" & echo \"run: $!\"; wait $!; echo \"code=$?\"' \"$0\"";

TEST_F(guarded_command, that_is_stopped_without_a_terminal_keeps_its_lock_and_its_run_going) {
    for (const int signal : {SIGSTOP, SIGTSTP}) {
        auto command = start_shell(as_a_job_without_a_terminal);
        const auto holdfast = told(command, "run");
        const auto pid = told(command, "pid");
        ::kill(pid, signal);
        ASSERT_TRUE(eventually(patience, [&] { return is_stopped(pid); }));
        for (int i = 0; i < 4; ++i) {
            EXPECT_TRUE(is_renewed()) << "after signal " << signal;
            EXPECT_FALSE(is_stopped(holdfast));
        }
        EXPECT_TRUE(is_stopped(pid));
        ::kill(holdfast, SIGCONT);
        EXPECT_TRUE(eventually(patience, [&] { return !is_stopped(pid); })) << "CONT is handed on";
        ::kill(holdfast, SIGTERM);
        EXPECT_TRUE(command.wait_for_output("code=143", patience)) << command.output();
    }
}

TEST_F(guarded_command, that_is_stopped_obeys_the_signal_that_ends_it) {
    for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
        auto command = start_shell(as_a_job_without_a_terminal);
        const auto holdfast = told(command, "run");
        const auto pid = told(command, "pid");
        ::kill(pid, SIGSTOP);
        ASSERT_TRUE(eventually(patience, [&] { return is_stopped(pid); }));
        ASSERT_TRUE(is_renewed());  // by now the guard has told of the stop
        ::kill(holdfast, signal);
        EXPECT_TRUE(command.wait_for_output("code=" + std::to_string(128 + signal), patience))
            << command.output();
    }
}

TEST_F(guarded_command, that_is_stopped_is_ended_when_its_lock_is_lost) {
    auto command = start_shell(as_a_job_without_a_terminal);
    const auto pid = told(command, "pid");
    ::kill(pid, SIGSTOP);
    ASSERT_TRUE(eventually(patience, [&] { return is_stopped(pid); }));
    server.command({"DEL", "a"});
    EXPECT_TRUE(command.wait_for_output("code=75", patience)) << command.output() << command.errors();
    EXPECT_TRUE(is_dead(pid));
}

// --- what is true of a command that has ended ---------------------------------------------------

TEST_F(guarded_command, failure_in_time_is_passed_on_by_a_run_that_was_stopped_until_the_lease_was_over) {
    auto command = start({"run", "--ttl", "5s", "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 7"});
    const auto pid = told(command, "pid");
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
