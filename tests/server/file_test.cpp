// Locks by flock(2) beside other programs, and when something happens to the files.
#include "server/file_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/sanitizers.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// --- with other programs ----------------------------------------------------------------------------

TEST_F(file_locks, exclude_flock_and_are_excluded_by_it) {
    auto held = stock.acquire();
    const foreign_lock other{path_of("stock")};
    EXPECT_FALSE(other.try_lock());
    EXPECT_FALSE(other.try_lock(LOCK_SH));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(other.try_lock());
    EXPECT_FALSE(stock.try_acquire());
    auto waiter = in_background([&] { return stock.acquire(); });
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().attempts.busy >= 3; }));
    other.unlock();  // nobody is told: the waiter polls
    EXPECT_TRUE(waiter.get().valid());
    shared_mutex readers{c, "readers"};
    const auto reading = readers.acquire_shared();
    const foreign_lock beside{path_of("readers")};
    EXPECT_TRUE(beside.try_lock(LOCK_SH));
    EXPECT_FALSE(beside.try_lock(LOCK_EX));
}

TEST_F(file_locks, exclude_the_program_flock) {
    if (std::system("command -v flock > /dev/null") != 0) GTEST_SKIP() << "no flock(1) here";
    auto held = stock.acquire();
    child_process refused{{"flock", "-n", path_of("stock"), "true"}};
    EXPECT_EQ(refused.wait(patience), 1);
    held.release();
    child_process holder{{"flock", path_of("stock"), "sh", "-c", "echo held; read x"}};
    ASSERT_TRUE(holder.wait_for_output("held", patience));
    EXPECT_FALSE(stock.try_acquire());
    auto refused_too = start({"run", "--no-wait", "stock", "--", "true"});
    EXPECT_EQ(refused_too.wait(patience), 1) << refused_too.errors();
    const auto seen = admin::inspect(c, "stock");
    EXPECT_EQ(seen.layout, "foreign flock");
    EXPECT_FALSE(seen.ours);
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].pid, holder.pid());
    const auto why = code_of([&] { (void)admin::evict(c, "stock"); });
    EXPECT_EQ(why, errc::wrong_kind) << "only its process can free it";
    holder.write("enough\n");
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

TEST_F(file_locks, wake_a_waiter_when_another_program_closes_the_file) {
    auto best = boot_clock::duration::max();
    for (int round = 0; round < 5; ++round) {
        auto holder = std::make_unique<foreign_lock>(path_of("stock"));
        ASSERT_TRUE(holder->try_lock());
        const auto before = c.stats().attempts.busy;
        auto waiter = in_background([&] {
            const auto held = stock.acquire();
            return boot_clock::now();
        });
        ASSERT_TRUE(eventually(patience, [&] { return c.stats().attempts.busy >= before + 2; }));
        const auto closed = boot_clock::now();
        holder.reset();
        best = std::min(best, waiter.get() - closed);
    }
    EXPECT_LT(best, 200ms) << "the poll gap is a second";
}

TEST_F(file_locks, write_nothing_and_unlink_nothing) {
    std::ofstream{path_of("script")} << "#!/bin/sh\n";
    std::filesystem::permissions(path_of("script"), std::filesystem::perms{0750});
    struct stat before {};
    ASSERT_EQ(::stat(path_of("script").c_str(), &before), 0);
    {
        mutex of_script{c, "script", {.fenced = true}};
        for (int i = 0; i < 3; ++i) (void)of_script.acquire();
        const auto held = of_script.acquire();
        client d{settings()};
        EXPECT_FALSE((mutex{d, "script"}.try_acquire_for(5ms)));
    }
    struct stat after {};
    ASSERT_EQ(::stat(path_of("script").c_str(), &after), 0);
    EXPECT_EQ(after.st_ino, before.st_ino);
    EXPECT_EQ(after.st_size, before.st_size);
    EXPECT_EQ(after.st_mode, before.st_mode);
    EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    (void)stock.acquire();
    EXPECT_TRUE(std::filesystem::exists(path_of("stock")));
    EXPECT_EQ(std::filesystem::file_size(path_of("stock")), 0U);
}

TEST_F(file_locks, are_private) {
    const mode_t mask = ::umask(0);
    {
        client d{settings()};
        (void)mutex(d, "ledger", {.fenced = true}).acquire();
        counting_semaphore(d, "render").try_set_permits(1);
        const auto held = mutex(d, "a/b").acquire();
    }
    ::umask(mask);
    EXPECT_EQ(mode_of(directory), 0700U);
    EXPECT_EQ(mode_of(path_of("ledger")), 0600U);
    EXPECT_EQ(mode_of(path_of(".holdfast")), 0700U);
    EXPECT_EQ(mode_of(path_of(".holdfast/clients")), 0700U);
    EXPECT_EQ(mode_of(path_of(".holdfast/ledger.fence")), 0600U);
    EXPECT_EQ(mode_of(path_of(".holdfast/render.permits")), 0600U);
}

TEST_F(file_locks, with_any_name_are_listed_by_it) {
    const auto one = mutex(c, "orders/42").acquire();
    const auto two = mutex(c, std::string(1000, 'n')).acquire();
    const auto seen = admin::list(c);
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(admin::list(c, "orders/*").size(), 1U);
    EXPECT_EQ(admin::inspect(c, "orders/42").holders.size(), 1U);
}

// --- files that are gone, full or of others ----------------------------------------------------------

TEST_F(file_locks, are_lost_with_their_file) {
    const auto held = mutex(c, "other", {.ttl = 1s * slower, .renew = true}).acquire();
    std::filesystem::remove(path_of("other"));
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    auto deleted = stock.acquire();
    std::filesystem::remove(path_of("stock"));
    client d{settings()};
    EXPECT_TRUE(mutex(d, "stock").try_acquire()) << "in a new file";
    EXPECT_EQ(deleted.release(), release_outcome::already_lost);
}

TEST_F(file_locks, go_on_for_waiters_of_a_replaced_file) {
    const foreign_lock old{path_of("stock")};
    ASSERT_TRUE(old.try_lock());
    auto waiter = in_background([&] { return stock.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return c.stats().attempts.busy >= 2; }));
    std::filesystem::remove(path_of("stock"));
    const auto held = waiter.get();
    EXPECT_TRUE(held.valid()) << "in a new file";
    EXPECT_FALSE(is_free());
}

TEST_F(file_locks, say_that_their_directory_is_gone) {
    const auto held = mutex(c, "other", {.ttl = 1s * slower, .renew = true}).acquire();
    std::filesystem::remove_all(directory);
    try {
        (void)stock.try_acquire();
        ADD_FAILURE() << "it was acquired in a directory that does not exist";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::unavailable);
        EXPECT_NE(std::string{e.what()}.find(directory + " does not exist"), std::string::npos) << e.what();
    }
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_EQ(code_of([&] { (void)admin::inspect(c, "stock"); }), errc::unavailable);
}

TEST_F(file_locks, refuse_what_is_no_lock_file) {
    std::filesystem::create_directory(path_of("folder"));
    std::filesystem::create_symlink("/etc/passwd", path_of("link"));
    ASSERT_EQ(::mkfifo(path_of("pipe").c_str(), 0600), 0);
    for (const char* const name : {"folder", "link", "pipe"})
        EXPECT_EQ(code_of([&] { (void)mutex(c, name).try_acquire(); }), errc::wrong_kind) << name;
    const auto refused = [](const std::string& url) {
        return code_of([&] {
            config how;
            how.url = url;
            const client d{how};
        });
    };
    EXPECT_EQ(refused("file:/proc"), errc::invalid_argument) << "a file system that is not known";
    EXPECT_EQ(refused("file:" + path_of("no/such/folder")), errc::invalid_argument);
    std::ofstream{path_of("plain")} << 'x';
    EXPECT_EQ(refused("file:" + path_of("plain")), errc::invalid_argument);
}

TEST_F(file_locks, of_kinds_that_files_cannot_have_are_refused_with_the_reason) {
    const auto refusal = [](const std::function<void()>& call) {
        try {
            call();
        } catch (const error& e) {
            return e.code() == errc::invalid_argument ? std::string{e.what()} : e.code().message();
        }
        return std::string{"nothing"};
    };
    const auto has = [](const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    };
    auto why = refusal([&] { (void)recursive_mutex(c, "stock").try_acquire(); });
    EXPECT_TRUE(has(why, "flock(2) does not count")) << why;
    why = refusal([&] { (void)fenced_mutex(c, "stock").try_acquire(); });
    EXPECT_TRUE(has(why, "flock(2) does not count")) << why;
    why = refusal([&] { (void)fair_mutex(c, "stock").try_acquire(); });
    EXPECT_TRUE(has(why, "no order")) << why;
    why = refusal([&] { (void)permit_semaphore(c, "stock").try_acquire(); });
    EXPECT_TRUE(has(why, "only the process that holds a permit")) << why;
    why = refusal([&] { (void)latch(c, "stock").count(); });
    EXPECT_TRUE(has(why, "no latches")) << why;
}

TEST_F(file_locks, have_fences_that_grow_after_their_file_was_lost) {
    mutex ledger{c, "ledger", {.fenced = true}};
    const auto first = to_number(ledger.acquire().fence());
    const auto second = to_number(ledger.acquire().fence());
    EXPECT_GT(second, first);
    std::filesystem::remove(path_of(".holdfast/ledger.fence"));
    const auto third = to_number(ledger.acquire().fence());
    EXPECT_GT(third, second);
    // The clock may have been set back: the file has the last one.
    std::ofstream{path_of(".holdfast/ledger.fence")} << "  90000000000000000000\n" << std::flush;
    EXPECT_EQ(code_of([&] { (void)ledger.try_acquire(); }), errc::bad_reply) << "not a number of 64 bits";
    std::ofstream{path_of(".holdfast/ledger.fence")} << "  9000000000000000000\n" << std::flush;
    EXPECT_EQ(to_number(ledger.acquire().fence()), 9'000'000'000'000'000'016U);
    EXPECT_TRUE(is_free("ledger"));
}

TEST_F(file_locks, permits_are_counted_one_process_at_a_time) {
    counting_semaphore render{c, "render", {.total = 2}};
    auto held = render.acquire();
    const auto side = path_of(".holdfast/render.permits");
    const foreign_lock turn{side};  // as of a process that was stopped meanwhile
    ASSERT_TRUE(turn.try_lock());
    auto impatient = settings();
    impatient.answer_timeout = 1s;
    client d{impatient};
    // On a machine that is late the call's own time-out may come first, with another code.
    EXPECT_TRUE(eventually(patience, [&] {
        return code_of([&] { (void)counting_semaphore(d, "render").try_acquire(); }) == errc::busy_server;
    }));
    auto waiter = in_background([&] { return render.acquire(); });
    EXPECT_TRUE(held.release()) << "to release needs no turn";
    turn.unlock();
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(file_locks, permits_of_one_semaphore_do_not_wait_for_those_of_another) {
    counting_semaphore stopped{c, "stopped", {.total = 1}};
    counting_semaphore render{c, "render", {.total = 1}};
    (void)stopped.try_acquire();
    const foreign_lock turn{path_of(".holdfast/stopped.permits")};  // as of a process that was stopped
    ASSERT_TRUE(turn.try_lock());
    const auto before = c.stats().commands_sent;
    auto waiter = in_background([&] { return stopped.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return c.stats().commands_sent > before; }));
    auto longest = boot_clock::duration::zero();
    const auto end = boot_clock::now() + 200ms;
    for (auto begun = boot_clock::now(); begun < end; begun = boot_clock::now()) {
        ASSERT_TRUE(render.try_acquire());
        longest = std::max(longest, boot_clock::now() - begun);
    }
    EXPECT_LT(longest, 1s * slower) << "the other request has two seconds";
    turn.unlock();
    EXPECT_TRUE(waiter.get().valid());
}

// --- the command ------------------------------------------------------------------------------------

TEST_F(file_locks, are_shown_evicted_and_examined_by_the_command) {
    auto holder = start({"run", "--grace", "100ms", "stock", "--", "sh", "-c", "echo held; exec sleep 100"});
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    auto list = start({"ls"});
    EXPECT_EQ(list.wait(patience), 0) << list.errors();
    EXPECT_NE(list.output().find("stock"), std::string::npos) << list.output();
    auto inspected = start({"inspect", "stock"});
    EXPECT_EQ(inspected.wait(patience), 0) << inspected.errors();
    EXPECT_NE(inspected.output().find(std::to_string(holder.pid())), std::string::npos) << inspected.output();
    auto evicted = start({"evict", "--yes", "stock"});
    EXPECT_EQ(evicted.wait(patience), 0) << evicted.errors();
    EXPECT_EQ(holder.wait(patience), 75);
    auto doctor = start({"doctor"});
    EXPECT_EQ(doctor.wait(patience), 0) << doctor.errors() << doctor.output();
    EXPECT_NE(doctor.output().find("lock-table"), std::string::npos) << doctor.output();
}

#if !defined(__SANITIZE_THREAD__)  // it supports no new threads after fork
TEST_F(file_locks, of_a_stopped_process_cannot_be_evicted_and_evict_says_so) {
    auto holder = child_process::fork_call([&](const parent_link& parent) {
        client mine{settings(1h)};
        const auto held = mutex(mine, "stock").acquire();
        parent.report("held");
        (void)parent.await_line();
        return 0;
    });
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    holder.pause();
    try {
        (void)admin::evict(c, "stock", {.wait = 100ms});
        ADD_FAILURE() << "the kernel cannot take a lock away";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::unavailable) << e.what();
        EXPECT_NE(std::string{e.what()}.find("only its process can free"), std::string::npos) << e.what();
    }
    EXPECT_FALSE(stock.try_acquire());
    holder.resume();
    holder.kill();
    EXPECT_TRUE(stock.try_acquire_for(patience));
}
#endif

}  // namespace
}  // namespace holdfast::test
