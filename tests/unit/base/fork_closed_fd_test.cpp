// Descriptors that a forked child does not keep.
#include "base/fork_closed_fd.hpp"
#include "support/eventually.hpp"
#include "support/forked.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using base::fork_closed_fd;

fork_closed_fd open_one() {
    return fork_closed_fd::from([] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
}
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

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

}  // namespace
}  // namespace holdfast::test
