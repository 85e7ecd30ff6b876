// Locks in MariaDB when a disk of the server is full.
#ifdef HOLDFAST_HAS_MARIADB

#include "server/sql_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"
#include "support/eventually.hpp"
#include "support/mariadb_server.hpp"
#include "support/sanitizers.hpp"
#include "support/small_disk.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// No page of the table has room for a row behind these. Later names are for smaller rows: they all go into
// the last page.
void fill_table(mariadb_server& server) {
    int next = 1000;
    for (const int size : {6000, 1000, 100, 1}) {
        for (bool fits = true; fits;) {
            try {
                server.run("INSERT INTO holdfast_lock VALUES ('" + std::to_string(next++) +
                               "', REPEAT('x', " + std::to_string(size) + "), 1, UTC_DATE())",
                           "small");
            } catch (const std::runtime_error&) {
                fits = false;
            }
        }
    }
}

TEST(mariadb_locks_on_a_full_disk, are_refused_if_they_are_new_and_those_with_a_row_go_on) {
    const auto why_not = with_small_disk("size=2m", [](small_disk& disk) {
        mariadb_server server;
        fs::create_directory(disk.path() / "small");
        fs::create_directory_symlink(disk.path() / "small", server.data() / "small");
        client c{sql_settings(server.url("small"))};
        const auto held = mutex{c, "stock", {.ttl = 1s * slower, .renew = true}}.acquire();
        disk.fill();
        fill_table(server);
        const auto text = message_of([&] { (void)mutex(c, "new").try_acquire(); });
        EXPECT_NE(text.find("the server's disk is full"), std::string::npos) << text;
        EXPECT_EQ(code_of([&] { (void)mutex(c, "new").try_acquire(); }), errc::out_of_memory);
        const auto before = c.stats().renewals;
        EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals > before + 1; }));
        EXPECT_TRUE(held.valid()) << "a row of the same size is changed in its place";
        disk.make_room();
        EXPECT_TRUE(mutex(c, "new").try_acquire());
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

// A commit that finds no room in the binary log waits, and MariaDB looks once a minute whether there is room.
TEST(mariadb_locks_on_a_full_disk, of_the_binary_log_are_not_known_and_lost_in_time_until_there_is_room) {
    if (std::getenv("HOLDFAST_TEST_ALL") == nullptr) GTEST_SKIP() << "a minute: see ./dev test all";
    const auto why_not = with_small_disk("size=1m", [](small_disk& disk) {
        mariadb_server server{{.settings = {"log-bin=" + (disk.path() / "binlog").string(), "server-id=1"}}};
        auto how = sql_settings(server.url());
        how.answer_timeout = 1s * slower;
        client c{how};
        client d{sql_settings(server.url())};
        ASSERT_TRUE(mutex(c, "stock").acquire().release());
        const auto held = mutex{c, "other", {.ttl = 2s * slower, .renew = true}}.acquire();
        disk.fill();
        EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
        EXPECT_FALSE(held.valid());
        std::error_code why;
        EXPECT_FALSE(mutex(c, "stock").try_acquire(why));
        EXPECT_EQ(why, errc::unknown_outcome) << why.message();
        disk.make_room();
        EXPECT_TRUE(mutex(d, "other").try_acquire_for(patience));
        EXPECT_TRUE(mutex(c, "stock").try_acquire_for(patience));
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

}  // namespace
}  // namespace holdfast::test

#endif
