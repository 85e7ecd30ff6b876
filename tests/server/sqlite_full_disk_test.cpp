// Locks in an SQLite database on a file system that is full.
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"
#include "support/eventually.hpp"
#include "support/sanitizers.hpp"
#include "support/small_disk.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class sqlite_locks_on_a_full_disk : public ::testing::Test {
  protected:
    static std::string file_on(const small_disk& disk) { return (disk.path() / "locks.db").string(); }
    static config on(const small_disk& disk) {
        config how;
        how.url = "sqlite:" + file_on(disk);
        return how;
    }
    // The last block of the log may have room for some commits.
    static void fill(small_disk& disk) {
        client c{on(disk)};
        mutex last{c, "last"};
        ASSERT_TRUE(last.acquire().release());  // from now on it writes one page
        disk.fill();
        std::error_code full;
        while (last.try_acquire(full)) {
        }
    }
    template <class Fn>
    static void expect_full(Fn&& call) {
        EXPECT_EQ(code_of(call), errc::out_of_memory);
        const auto text = message_of(call);
        EXPECT_NE(text.find("disk is full"), std::string::npos) << text;
    }
    // As another program sees it.
    static std::int64_t rows_of(const small_disk& disk, const std::string& table) {
        sqlite3* db = nullptr;
        sqlite3_stmt* count = nullptr;
        sqlite3_open_v2(file_on(disk).c_str(), &db, SQLITE_OPEN_READWRITE, nullptr);
        sqlite3_prepare_v2(db, ("SELECT count(*) FROM " + table).c_str(), -1, &count, nullptr);
        const bool found = sqlite3_step(count) == SQLITE_ROW;
        const auto rows = found ? sqlite3_column_int64(count, 0) : -1;
        sqlite3_finalize(count);
        sqlite3_close(db);
        return rows;
    }
};

TEST_F(sqlite_locks_on_a_full_disk, are_refused_with_the_reason_until_there_is_room) {
    const auto why_not = with_small_disk("size=2m", [](small_disk& disk) {
        client c{on(disk)};
        mutex stock{c, "stock"};
        ASSERT_TRUE(stock.acquire().release());
        fill(disk);
        expect_full([&] { (void)stock.try_acquire(); });
        expect_full([&] { (void)mutex(c, "other").try_acquire(); });
        EXPECT_EQ(admin::inspect(c, "stock").layout, "free") << "reading needs no room";
        disk.make_room();
        EXPECT_TRUE(stock.try_acquire().release());
        EXPECT_TRUE(mutex(c, "other").try_acquire());
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST_F(sqlite_locks_on_a_full_disk, can_be_opened_when_there_is_room_again) {
    const auto why_not = with_small_disk("size=2m", [](small_disk& disk) {
        disk.fill();
        expect_full([&] { const client refused{on(disk)}; });
        disk.make_room();
        client c{on(disk)};
        EXPECT_TRUE(mutex(c, "stock").try_acquire());
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST_F(sqlite_locks_on_a_full_disk, are_lost_in_time_and_granted_to_nobody_before) {
    const auto why_not = with_small_disk("size=2m", [](small_disk& disk) {
        client c{on(disk)};
        client d{on(disk)};
        mutex of_d{d, "stock"};
        ASSERT_TRUE(of_d.acquire().release());
        event_recorder events{c};
        const auto held = mutex{c, "stock", {.ttl = 1s * slower, .renew = true}}.acquire();
        fill(disk);
        auto other = in_background([&] {
            lease grant;
            return eventually(patience,
                              [&] {
                                  std::error_code refused;
                                  grant = of_d.try_acquire(refused);
                                  return static_cast<bool>(grant);
                              }) &&
                   !held.valid();
        });
        const auto why = events.next(event_kind::jeopardy);
        ASSERT_TRUE(why);
        EXPECT_EQ(why->reason, errc::out_of_memory) << why->detail;
        EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
        EXPECT_FALSE(held.valid());
        EXPECT_TRUE(events.has(event_kind::lost));
        disk.make_room();
        EXPECT_TRUE(other.get()) << "granted while the holder's lease was valid";
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST_F(sqlite_locks_on_a_full_disk, stay_held_when_there_is_room_in_time) {
    const auto why_not = with_small_disk("size=2m", [](small_disk& disk) {
        client c{on(disk)};
        client d{on(disk)};
        event_recorder events{c};
        const auto held = mutex{c, "stock", {.ttl = 10s * slower, .renew = true}}.acquire();
        fill(disk);
        ASSERT_TRUE(events.has(event_kind::jeopardy));
        disk.make_room();
        EXPECT_FALSE(mutex(d, "stock").try_acquire());
        EXPECT_TRUE(events.has(event_kind::renewed));
        EXPECT_TRUE(held.valid());
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST_F(sqlite_locks_on_a_full_disk, that_cannot_be_released_are_free_when_their_lease_is_over) {
    const auto why_not = with_small_disk("size=2m", [](small_disk& disk) {
        client c{on(disk)};
        client d{on(disk)};
        mutex of_d{d, "stock"};
        auto held = mutex{c, "stock"}.acquire({.ttl = 2s * slower});
        auto waiter = in_background([&] { return of_d.acquire(); });
        ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(c, "stock").queue.size() == 1; }));
        fill(disk);
        const auto released = held.release();
        EXPECT_EQ(released.outcome, release_outcome::unknown_until);
        ASSERT_TRUE(released.refusal);
        EXPECT_EQ(released.refusal->code(), errc::out_of_memory) << released.refusal->what();
        disk.make_room();
        EXPECT_TRUE(waiter.get().valid());
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

// What a client writes of itself once must not be taken as written when its transaction was rolled back.
TEST_F(sqlite_locks_on_a_full_disk, show_their_holder_although_its_first_change_was_refused) {
    const auto why_not = with_small_disk("size=2m", [](small_disk& disk) {
        client c{on(disk)};
        mutex stock{c, "stock"};
        fill(disk);
        expect_full([&] { (void)stock.try_acquire(); });
        disk.make_room();
        const auto held = stock.acquire();
        const auto seen = admin::inspect(c, "stock");
        ASSERT_EQ(seen.holders.size(), 1U);
        EXPECT_EQ(seen.holders[0].pid, ::getpid());
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST_F(sqlite_locks_on_a_full_disk, wake_waiters_that_could_not_listen_before) {
    const auto why_not = with_small_disk("size=2m", [](small_disk& disk) {
        client c{on(disk)};
        client d{on(disk)};
        shared_mutex of_d{d, "stock"};
        auto held = shared_mutex(c, "stock").acquire();
        fill(disk);
        EXPECT_FALSE(of_d.try_acquire_for(50ms)) << "it is read that the lock is held";
        disk.make_room();
        auto waiter = in_background([&] { return of_d.acquire(); });
        EXPECT_TRUE(eventually(patience, [&] { return rows_of(disk, "holdfast_listeners") == 1; }));
        EXPECT_TRUE(held.release());
        EXPECT_TRUE(waiter.get().valid());
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

}  // namespace
}  // namespace holdfast::test
