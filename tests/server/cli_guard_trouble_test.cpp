// A guard of `holdfast run` that is suspended or cannot be started.
#include "server/cli_guard_scene.hpp"
#include "support/send_signal.hpp"

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>

namespace holdfast::test::cli {
namespace {

// --- a suspended guard -------------------------------------------------------------------------

TEST_F(guarded_command, keeps_its_exit_code_though_its_guard_is_stopped) {
    auto command = start({"run", "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 5"});
    const auto guard = parent_of(pid_of(command, "pid"));
    send_signal(guard, SIGSTOP);
    command.write("\n");
    EXPECT_EQ(outcome_of(command).code, 5);
    EXPECT_TRUE(is_dead(guard));
}

TEST_F(guarded_command, is_ended_with_all_descendants_though_its_guard_is_stopped) {
    auto command = start({"run", "--ttl", lasting(3s), "a", "--", "sh", "-c", family});
    const auto pids = pids_of(command, members);
    send_signal(parent_of(pids.front()), SIGSTOP);
    free_as_another_client("a");
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(all_dead(pids));
}

// Suspends a process as a debugger does, of which its parent learns nothing, until the end of this object.
class suspended {
  public:
    explicit suspended(pid_t process) : process_(process) {
        EXPECT_EQ(::ptrace(PTRACE_SEIZE, process, nullptr, nullptr), 0);
        EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, process, nullptr, nullptr), 0);
        int status = 0;
        EXPECT_EQ(::waitpid(process, &status, __WALL), process);
        EXPECT_TRUE(WIFSTOPPED(status));
    }
    suspended(const suspended&) = delete;
    suspended& operator=(const suspended&) = delete;
    ~suspended() { ::ptrace(PTRACE_DETACH, process_, nullptr, nullptr); }
    // Its parent learns of the end only after this call.
    [[nodiscard]] bool is_killed() const {
        int status = 0;
        return eventually(patience,
                          [&] { return ::waitpid(process_, &status, __WALL | WNOHANG) == process_; }) &&
               WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }

  private:
    pid_t process_;
};

TEST_F(guarded_command, is_ended_with_all_descendants_by_run_if_its_guard_is_suspended) {
    auto command = start({"run", "--ttl", lasting(3s), "a", "--", "sh", "-c", family});
    const auto pids = pids_of(command, members);
    const suspended guard{parent_of(pids.front())};
    free_as_another_client("a");
    EXPECT_TRUE(guard.is_killed());
    EXPECT_EQ(outcome_of(command).code, 75);
    EXPECT_TRUE(all_dead(pids));
}

TEST_F(guarded_command, keeps_its_exit_code_though_its_guard_is_suspended) {
    auto command =
        start({"run", "--ttl", lasting(3s), "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 5"});
    const suspended guard{parent_of(pid_of(command, "pid"))};
    command.write("\n");
    EXPECT_TRUE(guard.is_killed());
    EXPECT_EQ(outcome_of(command).code, 5);
}

TEST_F(guarded_command, continues_when_its_guard_wakes_after_an_outdated_deadline) {
    auto command =
        start({"run", "--ttl", lasting(4s), "a", "--", "sh", "-c", "echo \"pid: $$\"; read x; exit 5"});
    {
        const suspended guard{parent_of(pid_of(command, "pid"))};
        for (int i = 0; i < 8; ++i) ASSERT_TRUE(is_renewed());
    }
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_renewed());
    command.write("\n");
    EXPECT_EQ(outcome_of(command).code, 5);
}

TEST_F(guarded_command, background_process_survives_a_guard_with_an_outdated_deadline) {
    auto command = start({"run", "--ttl", lasting(4s), "a", "--", "sh", "-c",
                          "sleep 100 >/dev/null 2>&1 </dev/null & echo \"left: $!\"; echo \"pid: $$\"; "
                          "read x; exit 5"});
    const auto left = pid_of(command, "left");
    const auto pid = pid_of(command, "pid");
    {
        const suspended guard{parent_of(pid)};
        for (int i = 0; i < 8; ++i) ASSERT_TRUE(is_renewed());
        command.write("\n");
        ASSERT_TRUE(eventually(patience, [&] { return is_dead(pid); }));
    }
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 5);
    EXPECT_EQ(ended.errors, one_is_left_alone);
    EXPECT_FALSE(is_dead(left));
}

// --- a guard that cannot be started -------------------------------------------------------------

// Kills the next process that `process` forks, before it does anything.
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
    send_signal(static_cast<pid_t>(forked), SIGKILL);
    while (::waitpid(static_cast<pid_t>(forked), &status, __WALL) > 0 && !WIFSIGNALED(status)) {
    }
    return ::ptrace(PTRACE_DETACH, process, nullptr, nullptr) == 0;
}

TEST_F(guarded_command, does_not_start_if_its_guard_is_killed_at_birth) {
    hold_as_another_client("a");
    auto command = start({"run", "-v", "a", "--", "true"});
    ASSERT_TRUE(command.wait_for_output("waiting for", patience)) << command.errors();
    ASSERT_TRUE(kill_next_fork_of(command.pid(), [&] { free_as_another_client("a"); }));
    const auto ended = outcome_of(command);
    EXPECT_EQ(ended.code, 70);
    EXPECT_NE(ended.errors.find("the command is not run, because its guard process cannot be started\n"),
              std::string::npos)
        << ended.errors;
    EXPECT_FALSE(is_held("a"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need more memory
class run_out_of_memory : public guarded_command {
  protected:
    // Does `then` when `run` gets no more memory, and expects that it leaves its lock and its command.
    void expect_to_keep_the_lock(const std::function<void(child_process&)>& then) {
        auto command = start({"run", "--ttl", "10m", "--grace", "1m", "a", "--", "sh", "-c",
                              "trap '' TERM; echo \"pid: $$\"; while :; do sleep 0.1; done"},
                             // Each allocation asks the system for memory; none is kept.
                             {{"GLIBC_TUNABLES",
                               "glibc.malloc.mmap_threshold=1:glibc.malloc.arena_max=1:"
                               "glibc.malloc.tcache_count=0"}});
        const auto pid = pid_of(command, "pid");
        const rlimit none{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
        ASSERT_EQ(::prlimit(command.pid(), RLIMIT_AS, &none, nullptr), 0);
        then(command);
        const auto ended = outcome_of(command);
        EXPECT_EQ(ended.code, 71);
        EXPECT_EQ(
            ended.errors,
            "holdfast: std::bad_alloc: the guard process takes over the command, and the lock expires by "
            "itself\n");
        EXPECT_FALSE(is_dead(pid));
    }
};

TEST_F(run_out_of_memory, keeps_the_lock_for_its_command) {
    expect_to_keep_the_lock([](child_process& run) { run.signal(SIGCONT); });  // to have something to do
    EXPECT_TRUE(is_held("a"));
}

TEST_F(run_out_of_memory, keeps_the_lock_for_its_command_if_a_thread_of_the_client_notices_it) {
    expect_to_keep_the_lock([this](child_process&) { server.stop(); });
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need descriptors of their own
TEST_F(guarded_command, does_not_start_without_descriptors_for_its_guard_and_one_line_says_so) {
    bool reached_the_guard = false;
    for (int spare = 0; spare < 16; ++spare) {
        auto holder = start({"run", "a", "--", "sh", "-c", "echo held; read x; true"});
        ASSERT_TRUE(holder.wait_for_output("held", patience));
        auto command = start({"run", "--json-fd", "1", "a", "--", "true"});
        ASSERT_TRUE(command.wait_for_output("\"waiting\"", patience));
        // It had enough descriptors when it started.
        const auto open = "/proc/" + std::to_string(command.pid()) + "/fd";
        rlimit few{};
        ASSERT_EQ(::prlimit(command.pid(), RLIMIT_NOFILE, nullptr, &few), 0);
        few.rlim_cur =
            static_cast<rlim_t>(std::distance(std::filesystem::directory_iterator{open}, {}) + spare);
        ASSERT_EQ(::prlimit(command.pid(), RLIMIT_NOFILE, &few, nullptr), 0);
        EXPECT_EQ(outcome_of(holder).code, 0);
        const auto ended = outcome_of(command);
        EXPECT_FALSE(is_held("a")) << spare;
        if (ended.code == 0) continue;
        EXPECT_EQ(ended.code, 71);
        EXPECT_EQ(std::ranges::count(ended.errors, '\n'), 1) << spare << ended.errors;
        reached_the_guard = ended.errors.find(
                                "the command is not run, because its guard process cannot be started: "
                                "Too many open files; no more files and sockets may be opened "
                                "here: raise the limit (ulimit -n)") != std::string::npos;
        EXPECT_TRUE(reached_the_guard) << spare << ended.errors;
    }
    EXPECT_TRUE(reached_the_guard);
}
#endif

}  // namespace
}  // namespace holdfast::test::cli
