// How the guard of `holdfast run` treats processes that are hard to find or cannot be ended.
#include "server/cli_guard_scene.hpp"
#include "server/scene.hpp"
#include "support/send_signal.hpp"
#include "support/stalls.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace holdfast::test::cli {
namespace {

// The processes that have this word in their command line.
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

// A command that ignores TERM. One process after the other enters a new session, starts the next and ends.
// It cannot be ended by hand, so it ends with its file, or after some minutes: a failed test must not leave
// it behind.
class storm {
  public:
    [[nodiscard]] std::string mark() const { return (folder_.path() / "storm").string(); }
    // A single scan may miss these processes, as they are short-lived.
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

TEST_F(guarded_command, that_keeps_forking_is_dead_before_the_lease_of_a_stopped_run_ends) {
    const storm started;
    words arguments{"run", "--ttl", lasting(4s), "a", "--"};
    for (const auto& word : started.command()) arguments.push_back(word);
    auto command = start(arguments);
    const auto pid = pid_of(command, "pid");
    command.pause();
    ASSERT_TRUE(eventually(patience, [&] { return !is_held("a"); }));
    EXPECT_TRUE(is_dead(pid));
    // The guard has 200 ms for the last KILL. Under a sanitizer a scan of all processes takes a part of that,
    // and a busy machine may keep the guard from using them.
    EXPECT_TRUE(started.is_over() || slower > 1 || taken_by_the_machine() > 100ms);
    EXPECT_TRUE(eventually(patience, [&] { return started.is_over(); }));
    command.resume();
    EXPECT_EQ(outcome_of(command).code, 75);
}

TEST_F(guarded_command, that_keeps_forking_is_dead_before_run_exits) {
    const storm started;
    words arguments{"run", "--max-hold", "500ms", "--grace", "200ms", "a", "--"};
    for (const auto& word : started.command()) arguments.push_back(word);
    auto command = start(arguments);
    const auto pid = pid_of(command, "pid");
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(is_dead(pid));
    EXPECT_TRUE(started.is_over());
}

TEST_F(guarded_command, child_of_its_other_thread_is_ended_too) {
    auto command = start({"run", "a", "--", "python3", "-c",
                          "import subprocess, threading, time\n"
                          "def work():\n"
                          "  p = subprocess.Popen(['setsid', 'sleep', '100'])\n"
                          "  print('child: %d' % p.pid, flush=True)\n"
                          "  time.sleep(100)\n"
                          "threading.Thread(target=work).start()\n"
                          "time.sleep(100)\n"});
    const auto child = pid_of(command, "child");
    command.kill();
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(child); }));
}

bool can_unshare() {
    return child_process{{"unshare", "--pid", "--mount", "--fork", "true"}}.wait(patience) == 0;
}

TEST_F(guarded_command, child_whose_main_thread_has_ended_is_ended_too) {
    auto command = start({"run", "--ttl", lasting(3s), "--grace", "100ms", "a", "--", "python3", "-c",
                          "import ctypes, os, threading, time\n"
                          "if os.fork(): time.sleep(100)\n"
                          "os.setsid()\n"
                          "def work():\n"
                          "  while open('/proc/self/stat').read().rsplit(')')[1][1] != 'Z': pass\n"
                          "  print('pid: %d' % os.getpid(), flush=True)\n"
                          "  time.sleep(100)\n"
                          "threading.Thread(target=work).start()\n"
                          "ctypes.CDLL(None).pthread_exit(None)\n"});
    const auto pid = pid_of(command, "pid");
    free_as_another_client("a");
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(is_dead(pid));
}

// How often the process went to sleep.
[[maybe_unused]] long sleeps_of(pid_t pid) {
    return std::atol(line_of(pid, "voluntary_ctxt_switches:").c_str());
}

#if !defined(__SANITIZE_ADDRESS__)  // undefined-behaviour sanitizer needs descriptors of its own
TEST_F(guarded_command, is_not_taken_for_dead_by_a_guard_without_descriptors) {
    auto command = start({"run", "--ttl", lasting(3s), "a", "--", "sh", "-c",
                          "setsid sleep 100 & echo \"session: $!\"; echo \"main: $$\"; wait"});
    const auto pids = pids_of(command, {"session", "main"});
    const auto guard = parent_of(pids.back());
    rlimit before{};
    ASSERT_EQ(::prlimit(guard, RLIMIT_NOFILE, nullptr, &before), 0);
    const rlimit none{.rlim_cur = 4, .rlim_max = before.rlim_max};  // poll() wants some
    ASSERT_EQ(::prlimit(guard, RLIMIT_NOFILE, &none, nullptr), 0);
    free_as_another_client("a");
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(pids.back()); }));
    const auto looks = sleeps_of(guard);
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(guard) || sleeps_of(guard) > looks + 20; }));
    EXPECT_TRUE(command.running());
    EXPECT_EQ(::prlimit(guard, RLIMIT_NOFILE, &before, nullptr), 0);
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(all_dead(pids));
}
#endif

// A program that can become another user, as sudo can.
constexpr auto as_another_user =
    "cp \"$(command -v setpriv)\" \"$1/other\" && chmod 4755 \"$1/other\" && chmod 711 \"$1\" && "
    "exec setpriv --reuid 65533 --clear-groups \"$0\" run --max-hold 1s --grace 100ms a -- "
    "\"$1/other\" --reuid 65532 sh -c 'echo \"pid: $$\"; exec sleep 100'";

TEST_F(guarded_command, of_another_user_is_waited_for_and_reported) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs the right to become another user";
    const temp_dir folder;
    child_process command{{"sh", "-c", as_another_user, HOLDFAST_COMMAND, folder.path().string()},
                          {{"HOLDFAST_URL", server.url()}}};
    const auto pid = pid_of(command, "pid");
    EXPECT_TRUE(
        command.wait_for_output("1 process of another user cannot be ended; waiting for it", patience))
        << command.errors();
    EXPECT_TRUE(is_held("a"));
    send_signal(pid, SIGKILL);
    EXPECT_EQ(outcome_of(command).code, 75);
}

// In its own PID namespace the numbers of /proc mean nothing.
TEST_F(guarded_command, is_ended_with_its_group_and_a_warning_where_proc_is_not_its_own) {
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
TEST_F(guarded_command, is_guarded_without_proc) {
    if (!can_unshare()) GTEST_SKIP() << "needs the right to make namespaces";
    child_process command{{"unshare", "--mount", "sh", "-c",
                           "umount -l /proc && exec \"$0\" run a -- sh -c 'sleep 100 & echo \"plain: $!\"; "
                           "echo \"pid: $$\"; wait'",
                           HOLDFAST_COMMAND},
                          {{"HOLDFAST_URL", server.url()}}};
    const auto plain = pid_of(command, "plain");
    const auto pid = pid_of(command, "pid");
    command.kill();
    EXPECT_TRUE(eventually(patience, [&] { return is_dead(pid) && is_dead(plain); }));
}
#endif

}  // namespace
}  // namespace holdfast::test::cli
