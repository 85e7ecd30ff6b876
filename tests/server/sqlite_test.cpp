// Locks in an SQLite database, when something happens to a process or to the file.
#include "server/cli_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"
#include "support/forked.hpp"
#include "support/sanitizers.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// Another program that has the file open.
class other_program {
  public:
    explicit other_program(const std::string& file) {
        if (sqlite3_open(file.c_str(), &db_) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
    }
    other_program(const other_program&) = delete;
    other_program& operator=(const other_program&) = delete;
    ~other_program() { sqlite3_close(db_); }
    void run(const std::string& sql) {
        ASSERT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
            << sqlite3_errmsg(db_);
    }

  private:
    sqlite3* db_ = nullptr;
};

class sqlite_locks : public ::testing::Test {
  protected:
    [[nodiscard]] config settings(std::chrono::milliseconds lease = 30s) const {
        config how;
        how.url = "sqlite:" + file;
        how.lease = lease;
        return how;
    }
    [[nodiscard]] child_process start(cli::words words) const {
        words.insert(words.begin(), {"--url", "sqlite:" + file});
        return cli::start_command(words);
    }
    const temp_dir folder;
    const std::string file = (folder.path() / "locks.db").string();
    client c{settings()};
    mutex stock{c, "stock"};
};

TEST_F(sqlite_locks, of_a_killed_process_are_free_when_their_lease_is_over) {
    auto holder = start({"run", "--ttl", cli::lasting(2s), "stock", "--", "sh", "-c", "echo held; read x"});
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    EXPECT_FALSE(stock.try_acquire());
    holder.kill();
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

TEST_F(sqlite_locks, pass_over_waiters_whose_process_was_killed) {
    auto held = stock.acquire();
    auto dead = start({"run", "-v", "stock", "--", "true"});
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(c, "stock").queue.size() == 1; }));
    client d{settings()};
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(c, "stock").queue.size() == 2; }));
    dead.kill();
    EXPECT_TRUE(held.release());
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(std::chrono::steady_clock::now() - began, 2s * slower) << "it is not waited for";
}

TEST_F(sqlite_locks, count_exactly_over_many_processes) {
    const auto total = (folder.path() / "total").string();
    std::ofstream{total} << 0 << '\n';
    constexpr int processes = 8;
    constexpr int rounds = 5;
    std::vector<child_process> all;
    for (int i = 0; i < processes; ++i) {
        all.push_back(
            child_process{{"sh", "-c",
                           "for i in 1 2 3 4 5; do \"$0\" --url \"$1\" run stock -- sh -c "
                           "'read n <\"$0\"; sleep 0.01; echo $((n + 1)) >\"$0\"' \"$2\" || exit 1; done",
                           HOLDFAST_COMMAND, "sqlite:" + file, total}});
    }
    for (auto& one : all) EXPECT_EQ(one.wait(patience), 0) << one.errors();
    int counted = 0;
    std::ifstream{total} >> counted;
    EXPECT_EQ(counted, processes * rounds);
}

// Here a process that is stopped while it writes: it stops all locks of the file.
TEST_F(sqlite_locks, cannot_be_acquired_while_another_process_writes_and_are_lost_in_time) {
    event_recorder events{c};
    const auto held = mutex{c, "other", {.ttl = 1s * slower, .renew = true}}.acquire();
    other_program writer{file};
    writer.run("BEGIN IMMEDIATE");
    std::error_code why;
    EXPECT_FALSE(stock.try_acquire(why));
    // The thread that writes to the file may have been too slow to say so.
    EXPECT_TRUE(why == errc::busy_server || why == condition::unknown) << why.message();
    auto waiter = in_background([&] { return stock.acquire(); });
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_FALSE(held.valid());
    writer.run("COMMIT");
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(sqlite_locks, are_lost_with_their_file) {
    for (const auto& parts : {std::vector{"", "-wal", "-shm"}, std::vector{""}}) {
        const auto held = mutex{c, "other", {.ttl = 1s * slower, .renew = true}}.acquire();
        for (const char* const part : parts) std::filesystem::remove(file + part);
        EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
        EXPECT_TRUE(stock.try_acquire()) << "in a new file";
        EXPECT_TRUE(admin::list(c, "other").empty()) << "and not in what is left of the old one";
    }
}

// CLOCK_BOOTTIME begins anew, so the times in the file mean nothing.
TEST_F(sqlite_locks, do_not_outlive_the_boot_of_the_machine_and_their_fences_do) {
    mutex ledger{c, "ledger", {.fenced = true}};
    counting_semaphore render{c, "render", {.total = 3}};
    const auto held = ledger.acquire();
    const auto permits = render.acquire({.permits = 2});
    const auto before = to_number(held.fence());
    other_program{file}.run("UPDATE holdfast_store SET boot = 'an earlier one'");
    client d{settings()};
    const auto again = mutex{d, "ledger", {.fenced = true}}.try_acquire();
    ASSERT_TRUE(again);
    EXPECT_GT(to_number(again.fence()), before);
    EXPECT_EQ(counting_semaphore(d, "render").available_permits(), 3);
}

TEST_F(sqlite_locks, need_a_file_of_their_own) {
    const auto refused = [&](const std::string& path) {
        try {
            config how;
            how.url = "sqlite:" + path;
            client other{how};
            (void)mutex(other, "stock").try_acquire();
        } catch (const error& e) {
            return std::string{e.what()};
        }
        return std::string{};
    };
    const auto taken = (folder.path() / "taken.db").string();
    other_program{taken}.run("CREATE TABLE orders (id INTEGER)");
    EXPECT_NE(refused(taken).find("is the database of another program"), std::string::npos) << refused(taken);
    const auto text = (folder.path() / "text").string();
    std::ofstream{text} << std::string(4096, 'x');
    EXPECT_NE(refused(text).find("not a database"), std::string::npos) << refused(text);
    const auto nowhere = (folder.path() / "no" / "locks.db").string();
    EXPECT_NE(refused(nowhere).find("No such file or directory"), std::string::npos) << refused(nowhere);
    EXPECT_NE(refused("/proc/locks.db").find("does not know"), std::string::npos)
        << refused("/proc/locks.db");
}

TEST_F(sqlite_locks, belong_to_the_parent_after_a_fork) {
    auto held = stock.acquire({.ttl = 2s * slower, .renew = true});
    const int wrong = in_forked_child([&] {
        if (held.valid()) return 1;
        return code_of([&] { (void)stock.try_acquire(); }) == errc::forked ? 0 : 2;
    });
    EXPECT_EQ(wrong, 0);
    const auto renewals = c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals > renewals + 2; }));
    EXPECT_TRUE(held.release());
}

// SQLite has copied what it knows of the parent's locks. (Thread sanitizer supports no new threads after
// fork.)
#if !defined(__SANITIZE_THREAD__)
TEST_F(sqlite_locks, refuse_a_client_in_a_forked_child) {
    const auto held = stock.acquire();
    const int wrong = in_forked_child(
        [&] { return code_of([&] { const client fresh{settings()}; }) == errc::forked ? 0 : 1; });
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(held.valid());
}
#endif

TEST_F(sqlite_locks, are_shown_evicted_and_examined_by_the_command) {
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
}

}  // namespace
}  // namespace holdfast::test
