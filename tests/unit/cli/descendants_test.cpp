// Each test looks for descendants of a process that it forks itself.
#include "cli/process/descendants.hpp"

#include "support/child_process.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <functional>

namespace holdfast::cli {
namespace {

using test::child_process;
using test::parent_link;
using test::patience;

constexpr int not_possible_here = 77;

// Returns what the body returns.
int in_its_own_process(const std::function<int()>& body) {
    auto process = child_process::fork_call([&](const parent_link&) {
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        return body();
    });
    const auto code = process.wait(patience);
    EXPECT_TRUE(code);
    return code.value_or(-1);
}

pid_t fork_waiting_child() {
    const pid_t child = ::fork();
    if (child == 0) {
        while (true) ::pause();
    }
    return child;
}

// Gives it the largest free pid below `above`.
pid_t fork_waiting_child_with_pid_below(pid_t above) {
    for (pid_t number = above - 1; number > 1; --number) {
        clone_args how{};
        how.exit_signal = SIGCHLD;
        how.set_tid = reinterpret_cast<std::uint64_t>(&number);
        how.set_tid_size = 1;
        const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
        if (child == 0) {
            while (true) ::pause();
        }
        if (child > 0 || errno != EEXIST) return child;
    }
    return -1;
}

void kill_all(descendants& found) {
    while (descendants::any_is_alive()) found.kill(0);
}

TEST(DescendantsTest, child_with_a_pid_below_its_parents_is_killed_by_the_same_sweep) {
    const auto code = in_its_own_process([] {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return 2;
        if (::fork() == 0) {
            const auto child = fork_waiting_child_with_pid_below(::getpid());
            if (::write(ends[1], &child, sizeof child) != sizeof child) ::_exit(1);
            while (true) ::pause();
        }
        pid_t child = 0;
        if (::read(ends[0], &child, sizeof child) != sizeof child) return 2;
        descendants found;
        if (child < 0) {
            kill_all(found);
            return not_possible_here;
        }
        const auto met = found.kill(0);
        kill_all(found);
        return met.signalled == 2 && met.complete ? 0 : 1;
    });
    if (code == not_possible_here) GTEST_SKIP() << "needs the right to choose pids";
    EXPECT_EQ(code, 0);
}

TEST(DescendantsTest, any_is_alive_until_the_last_has_ended_and_ignores_zombies) {
    EXPECT_EQ(in_its_own_process([] {
                  if (descendants::any_is_alive()) return 1;
                  const auto first = fork_waiting_child();
                  const auto second = fork_waiting_child();
                  siginfo_t about{};
                  ::kill(first, SIGKILL);
                  ::waitid(P_PID, static_cast<id_t>(first), &about, WEXITED | WNOWAIT);
                  if (!descendants::any_is_alive()) return 2;
                  ::kill(second, SIGKILL);
                  ::waitid(P_PID, static_cast<id_t>(second), &about, WEXITED | WNOWAIT);
                  return descendants::any_is_alive() ? 3 : 0;
              }),
              0);
}

// Undefined-behaviour sanitizer needs descriptors of its own.
#if !defined(__SANITIZE_ADDRESS__)

void allow_descriptors(rlim_t number) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = number;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(DescendantsTest, are_killed_although_no_descriptor_is_left) {
    EXPECT_EQ(in_its_own_process([] {
                  descendants found;
                  fork_waiting_child();
                  allow_descriptors(64);
                  while (::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
                  }
                  const auto met = found.kill(0);
                  kill_all(found);
                  return met.signalled == 1 && met.complete ? 0 : 1;
              }),
              0);
}

TEST(DescendantsTest, sweep_that_cannot_look_is_reported_incomplete) {
    EXPECT_EQ(in_its_own_process([] {
                  descendants found;
                  fork_waiting_child();
                  allow_descriptors(0);
                  const auto met = found.kill(0);
                  allow_descriptors(64);
                  kill_all(found);
                  return met.signalled == 0 && !met.complete ? 0 : 1;
              }),
              0);
}

#endif

}  // namespace
}  // namespace holdfast::cli
