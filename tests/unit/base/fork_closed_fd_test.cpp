// Descriptors that a forked child does not keep.
#include "base/fork_closed_fd.hpp"
#include "support/eventually.hpp"
#include "support/forked.hpp"
#include "support/open_files.hpp"
#include "support/sanitizers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

using base::fork_closed_fd;

fork_closed_fd open_one() {
    return fork_closed_fd::from([] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
}
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

// --- what a fork does between the handlers of the library and the copy -----------------------------------

std::atomic<std::chrono::milliseconds> slow_fork{0ms};
std::atomic<bool> fork_has_begun{false};
std::atomic<bool> file_is_open{false};
std::atomic<bool> fork_is_over{false};
thread_local bool opens_in_handler = false;
std::vector<fork_closed_fd> opened_in_handler;

void before_the_copy() {
    if (opens_in_handler) opened_in_handler.push_back(open_one());
    if (slow_fork.load() == 0ms) return;
    fork_has_begun = true;
    (void)eventually(slow_fork, [] { return file_is_open.load(); });
}
void after_the_copy() {
    if (opens_in_handler) opened_in_handler.push_back(open_one());
    fork_is_over = true;
}

// The handlers that are registered first are the last that run before the copy, and the first after it.
__attribute__((constructor(101))) void surround_the_copy() {
    ::pthread_atfork(before_the_copy, after_the_copy, nullptr);
}

TEST(fork_closed_fd, is_closed_in_the_child_and_open_in_the_parent) {
    std::vector<fork_closed_fd> many;  // more than fit into the first block
    for (int i = 0; i < 300; ++i) many.push_back(open_one());
    const int plain = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(in_forked_child([&] {
                  for (const auto& one : many)
                      if (is_open(one.get())) return 1;
                  return is_open(plain) ? 0 : 2;
              }),
              0);
    for (const auto& one : many) EXPECT_TRUE(is_open(one.get()));
    ::close(plain);
}

TEST(fork_closed_fd, of_the_parent_closes_nothing_of_the_child) {
    auto one = open_one();
    const int number = one.get();
    EXPECT_EQ(in_forked_child([&] {
                  if (::open("/dev/null", O_RDONLY) > number) return 1;  // takes the lowest free number
                  while (!is_open(number))
                      if (::open("/dev/null", O_RDONLY) < 0) return 2;
                  one.reset();
                  return is_open(number) ? 0 : 3;
              }),
              0);
}

TEST(fork_closed_fd, is_closed_once_and_moves) {
    auto one = open_one();
    const int number = one.get();
    auto other = std::move(one);
    EXPECT_FALSE(one);
    EXPECT_EQ(other.get(), number);
    other.reset();
    EXPECT_FALSE(is_open(number));
    EXPECT_FALSE(fork_closed_fd::from([] { return ::open("/nowhere/at/all", O_RDONLY); }));
    EXPECT_EQ(errno, ENOENT);
}

// A child that kept a copy of a locked file would keep the lock.
TEST(fork_closed_fd, is_kept_by_no_child_that_is_forked_at_the_same_time) {
    const temp_dir folder;
    const auto path = (folder.path() / "lock").string();
    std::atomic<bool> enough{false};
    std::atomic<bool> blocked{false};
    std::atomic<int> rounds{0};
    std::thread opener([&] {
        while (!enough && !blocked) {
            auto file = fork_closed_fd::from(
                [&] { return ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600); });
            // A child that was forked a moment ago has perhaps not run yet.
            blocked = !eventually(patience, [&] { return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0; });
            ::flock(file.get(), LOCK_UN);
            file.reset();
            ++rounds;
        }
    });
    std::vector<pid_t> children;
    for (int i = 0; i < 40; ++i) {
        const int before = rounds;
        const auto child = ::fork();
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) ::pause();
        }
        children.push_back(child);
        EXPECT_TRUE(eventually(patience, [&] { return blocked || rounds > before + 2; }));
    }
    enough = true;
    opener.join();
    EXPECT_FALSE(blocked);
    for (const auto child : children) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
}

// Whether the child has a copy of the file that another thread opens between the handlers and the copy, if
// the library lets it: the fork waits for that, but not longer than `at_most`.
bool child_has_a_copy(std::chrono::milliseconds at_most) {
    const temp_dir folder;
    const auto path = (folder.path() / "lock").string();
    fork_has_begun = file_is_open = fork_is_over = false;
    slow_fork = at_most;
    std::thread opener([&] {
        EXPECT_TRUE(eventually(patience, [] { return fork_has_begun.load(); }));
        const auto file = fork_closed_fd::from([&] {
            const int fd = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
            file_is_open = true;
            EXPECT_TRUE(eventually(patience, [] { return fork_is_over.load(); }));
            return fd;
        });
        EXPECT_TRUE(file);
    });
    const int copies = in_forked_child([&] { return static_cast<int>(descriptors_of(path).size()); });
    slow_fork = 0ms;
    opener.join();
    return copies != 0;
}

TEST(fork_closed_fd, is_kept_by_no_child_whose_fork_has_begun_before_it_was_opened) {
    EXPECT_FALSE(child_has_a_copy(200ms));  // the library waits for a second
}

// As a handler does that takes a mutex of the program, while the thread that has the mutex locks a file.
TEST(fork_closed_fd, is_opened_in_the_end_while_a_handler_of_a_fork_waits_for_that) {
    EXPECT_TRUE(child_has_a_copy(patience)) << "which is why the library waits at all";
}

// A program may lock files in handlers of its own: it must not wait for itself.
TEST(fork_closed_fd, can_be_opened_by_a_handler_of_the_same_fork) {
    opens_in_handler = true;
    EXPECT_EQ(in_forked_child([] { return 0; }), 0);
    opens_in_handler = false;
    ASSERT_EQ(opened_in_handler.size(), 2U);
    for (const auto& one : opened_in_handler) EXPECT_TRUE(is_open(one.get()));
    opened_in_handler.clear();
}

}  // namespace
}  // namespace holdfast::test
