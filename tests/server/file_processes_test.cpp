// Locks by flock(2), when processes die, stop and fork, and in several containers.
#include "server/file_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/forked.hpp"
#include "support/send_signal.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

TEST_F(file_locks, are_freed_when_the_ttl_is_over) {
    client d{settings()};
    const auto held = mutex(d, "stock").acquire({.ttl = 300ms});
    EXPECT_TRUE(stock.try_acquire_for(patience));
    EXPECT_FALSE(held.valid());
}

TEST_F(file_locks, of_a_killed_run_are_held_until_its_command_has_ended) {
    const auto mark = (folder.path() / "mark").string();
    // TERM does not end the command; the guard kills it after the grace.
    auto holder = start({"run", "--grace", "500ms", "stock", "--", "sh", "-c",
                         "trap '' TERM; echo held; while :; do date +%s%N > \"$0\"; sleep 0.01; done", mark});
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    ASSERT_TRUE(eventually(patience, [&] { return std::filesystem::exists(mark); }));
    holder.signal(SIGKILL);
    const auto mine = stock.try_acquire_for(patience);
    ASSERT_TRUE(mine);
    const auto now = [&] {
        std::ifstream file(mark);
        return std::string{std::istreambuf_iterator<char>{file}, {}};
    };
    const auto at_the_grant = now();
    EXPECT_FALSE(eventually(200ms, [&] { return now() != at_the_grant; })) << "the command still works";
}

// A process of another container with the same volume: another pid namespace, another mount namespace.
TEST_F(file_locks, exclude_another_container_with_the_same_volume) {
    const auto volume = (folder.path() / "volume").string();
    std::filesystem::create_directory(volume);
    child_process there{
        {"unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
         "mount --bind \"$1\" \"$2\" && exec \"$0\" --url \"file:$2\" run stock -- sh -c 'echo held; "
         "read x'",
         HOLDFAST_COMMAND, directory, volume}};
    if (!there.wait_for_output("held", patience)) {
        // Without the right, or in a chroot whose root is no mount point.
        if (there.errors().find("not permitted") != std::string::npos ||
            there.errors().starts_with("unshare:"))
            GTEST_SKIP() << "namespaces cannot be made here: " << there.errors();
        FAIL() << there.errors();
    }
    EXPECT_FALSE(stock.try_acquire());
    const auto seen = admin::inspect(c, "stock");
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_TRUE(seen.ours);
    EXPECT_EQ(seen.layout, "mutex");
    auto waiter = in_background([&] { return stock.acquire(); });
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().attempts.busy >= 3; }));
    there.write("enough\n");
    EXPECT_EQ(there.wait(patience), 0) << there.errors();
    EXPECT_TRUE(waiter.get().valid());
}

// Clients in forked children: thread sanitizer supports no new threads after fork.
#if !defined(__SANITIZE_THREAD__)

TEST_F(file_locks, of_a_killed_process_are_free_at_once) {
    auto holder = child_process::fork_call([&](const parent_link& parent) {
        client mine{settings(1h)};
        const auto held = mutex(mine, "stock").acquire();
        const auto permits = counting_semaphore(mine, "render", {.total = 2}).acquire({.permits = 2});
        parent.report("held");
        (void)parent.await_line();
        return 0;
    });
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    EXPECT_FALSE(stock.try_acquire());
    auto waiter = in_background([&] { return stock.acquire(); });
    counting_semaphore render{c, "render"};
    EXPECT_EQ(render.available_permits(), 0);
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().attempts.busy >= 3; }));
    holder.kill();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_EQ(render.available_permits(), 2);
}

TEST_F(file_locks, of_a_stopped_process_are_held_until_it_goes_on) {
    auto holder = child_process::fork_call([&](const parent_link& parent) {
        client mine{settings()};
        auto held = mutex(mine, "stock").acquire({.ttl = 300ms});
        parent.report("held");
        (void)parent.await_line();
        return held.release() == release_outcome::already_lost ? 0 : 1;
    });
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    holder.pause();
    EXPECT_FALSE(stock.try_acquire_for(1s)) << "no time frees it";
    holder.resume();
    EXPECT_TRUE(stock.try_acquire_for(patience)) << "its client frees what is over";
    holder.write("go on\n");
    EXPECT_EQ(holder.wait(patience), 0) << holder.errors();
}

TEST_F(file_locks, are_not_kept_by_a_forked_child_that_outlives_its_parent) {
    auto parent = child_process::fork_call([&](const parent_link& up) {
        client mine{settings(1h)};
        const auto held = mutex(mine, "stock").acquire();
        const auto child = ::fork();
        if (child == 0) {
            ::alarm(600);
            for (;;) ::pause();  // it inherits the pipes, too; the test does not read to their end
        }
        up.report("forked " + std::to_string(child));
        (void)up.await_line();
        return 0;
    });
    ASSERT_TRUE(parent.wait_for_output("forked", patience)) << parent.errors();
    const auto child = std::stoi(parent.output().substr(std::string{"forked "}.size()));
    EXPECT_FALSE(stock.try_acquire());
    parent.signal(SIGKILL);
    EXPECT_TRUE(stock.try_acquire_for(patience));
    EXPECT_EQ(send_signal(child, SIGKILL), 0) << "it still lives";
}

TEST_F(file_locks, are_not_kept_by_a_program_that_the_holder_has_started) {
    auto parent = child_process::fork_call([&](const parent_link& up) {
        client mine{settings(1h)};
        const auto held = mutex(mine, "stock").acquire();
        const char* const words[] = {"sleep", "600", nullptr};
        pid_t program = 0;
        // As vfork() does: no handler of fork() runs.
        if (::posix_spawnp(&program, words[0], nullptr, nullptr, const_cast<char* const*>(words), environ) !=
            0)
            return 1;
        up.report("started " + std::to_string(program));
        (void)up.await_line();
        return 0;
    });
    ASSERT_TRUE(parent.wait_for_output("started", patience)) << parent.errors();
    EXPECT_FALSE(stock.try_acquire());
    const auto program = std::stoi(parent.output().substr(std::string{"started "}.size()));
    parent.signal(SIGKILL);
    EXPECT_TRUE(stock.try_acquire_for(patience));
    EXPECT_EQ(send_signal(program, SIGKILL), 0) << "it still runs";
}

TEST_F(file_locks, stay_held_when_a_forked_child_ends_and_the_child_may_lock_by_itself) {
    auto held = stock.acquire();
    const int wrong = in_forked_child([&] {
        if (held.valid()) return 1;
        if (code_of([&] { (void)stock.try_acquire(); }) != errc::forked) return 2;
        client fresh{settings()};
        if (mutex(fresh, "stock").try_acquire()) return 3;
        return mutex(fresh, "other").try_acquire() ? 0 : 4;
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(is_free());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(is_free());
}

TEST_F(file_locks, released_by_the_parent_are_free_although_a_child_has_a_copy) {
    auto parent = child_process::fork_call([&](const parent_link& up) {
        auto how = settings();
        how.url += "?children=hold_on";
        client mine{how};
        auto held = mutex(mine, "stock").acquire();
        const char* const words[] = {"sleep", "600", nullptr};
        pid_t program = 0;
        if (::posix_spawnp(&program, words[0], nullptr, nullptr, const_cast<char* const*>(words), environ) !=
            0)
            return 1;
        up.report("started");
        (void)up.await_line();
        const bool released = held.release() == release_outcome::released;
        up.report("released");
        (void)up.await_line();
        send_signal(program, SIGKILL);
        return released ? 0 : 2;
    });
    ASSERT_TRUE(parent.wait_for_output("started", patience)) << parent.errors();
    EXPECT_FALSE(stock.try_acquire());
    parent.write("release it\n");
    ASSERT_TRUE(parent.wait_for_output("released", patience)) << parent.errors();
    EXPECT_TRUE(stock.try_acquire());
    parent.write("end\n");
    EXPECT_EQ(parent.wait(patience), 0) << parent.errors();
}

// The child has copies of the descriptors, and with them of what the locks show to others.
TEST_F(file_locks, released_by_the_parent_leave_nothing_although_a_child_has_a_copy) {
    auto parent = child_process::fork_call([&](const parent_link& up) {
        auto how = settings();
        how.url += "?children=hold_on";
        client mine{how};
        auto held = mutex(mine, "stock").acquire();
        auto permits = counting_semaphore(mine, "render", {.total = 2}).acquire({.permits = 2});
        const char* const words[] = {"sleep", "600", nullptr};
        pid_t program = 0;
        if (::posix_spawnp(&program, words[0], nullptr, nullptr, const_cast<char* const*>(words), environ) !=
            0)
            return 1;
        up.report("started");
        (void)up.await_line();
        held.release();
        permits.release();
        up.report("released");
        (void)up.await_line();
        send_signal(program, SIGKILL);
        return 0;
    });
    ASSERT_TRUE(parent.wait_for_output("started", patience)) << parent.errors();
    counting_semaphore render{c, "render"};
    EXPECT_EQ(render.available_permits(), 0);
    EXPECT_EQ(admin::inspect(c, "stock").holders.size(), 1U);
    parent.write("release them\n");
    ASSERT_TRUE(parent.wait_for_output("released", patience)) << parent.errors();
    EXPECT_EQ(render.available_permits(), 2);
    EXPECT_TRUE(render.try_acquire({.permits = 2}));
    EXPECT_EQ(admin::inspect(c, "stock").layout, "free");
    EXPECT_TRUE(shared_mutex(c, "stock").try_acquire_shared()) << "it is of no kind any more";
    parent.write("end\n");
    EXPECT_EQ(parent.wait(patience), 0) << parent.errors();
}

TEST_F(file_locks, count_exactly_over_64_processes) {
    const auto total = (folder.path() / "total").string();
    std::ofstream{total} << 0 << '\n';
    constexpr int processes = 64;
    constexpr int rounds = 10;
    std::vector<child_process> all;
    for (int i = 0; i < processes; ++i) {
        all.push_back(child_process::fork_call([&](const parent_link&) {
            client mine{settings()};
            mutex lock{mine, "counter"};
            for (int round = 0; round < rounds; ++round) {
                const auto held = lock.acquire();
                int counted = 0;
                std::ifstream{total} >> counted;
                std::ofstream{total} << counted + 1 << '\n';
            }
            return 0;
        }));
    }
    for (auto& one : all) EXPECT_EQ(one.wait(2 * patience), 0) << one.errors();
    int counted = 0;
    std::ifstream{total} >> counted;
    EXPECT_EQ(counted, processes * rounds);
}

#endif

}  // namespace
}  // namespace holdfast::test
