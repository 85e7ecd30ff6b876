// A guard of `holdfast run` that stands still, or cannot be started.
#include "server/cli_guard_scene.hpp"

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>

namespace holdfast::test::cli {
namespace {

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

TEST_F(guarded_command, leaves_alone_what_it_left_when_its_guard_wakes_after_a_deadline_that_was_moved) {
    auto command = start({"run", "--ttl", "2s", "a", "--", "sh", "-c",
                          "sleep 100 >/dev/null 2>&1 </dev/null & echo \"left: $!\"; echo \"pid: $$\"; "
                          "read x; exit 5"});
    const auto left = told(command, "left");
    const auto pid = told(command, "pid");
    {
        const held_up guard{parent_of(pid)};
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
        ended.errors.find("the guard process, without which the command must not run, cannot be started\n"),
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
    EXPECT_EQ(ended.code, 71);
    EXPECT_EQ(ended.errors,
              "holdfast: std::bad_alloc: the guard process takes over the command, and the lock expires by "
              "itself\n");
    EXPECT_TRUE(is_held("a"));
    EXPECT_FALSE(is_dead(pid));
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need descriptors of their own
TEST_F(guarded_command, does_not_begin_where_descriptors_are_missing_for_its_guard_and_one_line_says_so) {
    bool reached_the_guard = false;
    for (int spare = 0; spare < 16; ++spare) {
        auto holder = start({"run", "a", "--", "sh", "-c", "echo held; read x; true"});
        ASSERT_TRUE(holder.wait_for_output("held", patience));
        auto command = start({"run", "--json-fd", "1", "a", "--", "true"});
        ASSERT_TRUE(command.wait_for_output("\"waiting\"", patience));
        // It had enough of them when it began.
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
                                "the guard process, without which the command must not run, cannot "
                                "be started: Too many open files; no more files and sockets may be opened "
                                "here: raise the limit (ulimit -n)") != std::string::npos;
        EXPECT_TRUE(reached_the_guard) << spare << ended.errors;
    }
    EXPECT_TRUE(reached_the_guard);
}
#endif

}  // namespace
}  // namespace holdfast::test::cli
