// Locks in PostgreSQL when a disk of the server is full.
#ifdef HOLDFAST_HAS_POSTGRES

#include "server/sql_scene.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"
#include "support/postgres_server.hpp"
#include "support/sanitizers.hpp"
#include "support/small_disk.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

fs::path folder_of_the_server(const small_disk& disk) {
    fs::create_directory(disk.path() / "server");
    postgres_server::give_all(disk.path() / "server");
    return disk.path() / "server";
}

// No page of the table has room for another row.
void fill_table(postgres_server& server) {
    for (const int size : {6000, 1000, 100, 1}) {
        for (int i = 0;; ++i) {
            try {
                server.run("INSERT INTO holdfast_lock (name, record, version) VALUES ('" +
                           std::to_string(size) + "_" + std::to_string(i) + "', '" + std::string(size, 'x') +
                           "', 1)");
            } catch (const std::runtime_error&) {
                break;
            }
        }
    }
}

TEST(postgres_locks_on_a_full_disk, are_refused_until_there_is_room) {
    const auto why_not = with_small_disk("size=4m,mode=777", [](small_disk& disk) {
        postgres_server server;
        const auto place = folder_of_the_server(disk);
        server.run("CREATE TABLESPACE small LOCATION '" + place.string() + "'");
        server.run("ALTER DATABASE postgres SET default_tablespace = small");
        client c{sql_settings(server.url())};
        ASSERT_TRUE(mutex(c, "first").acquire().release()) << "the table is made";
        server.run("ALTER TABLE holdfast_lock SET (fillfactor = 100)");
        server.run("ALTER TABLE holdfast_lock ALTER record SET STORAGE PLAIN");
        disk.fill();
        fill_table(server);
        mutex one{c, "new"};
        const auto text = message_of([&] { (void)one.try_acquire(); });
        EXPECT_NE(text.find("the server's disk is full"), std::string::npos) << text;
        EXPECT_EQ(refusal(one), errc::out_of_memory);
        disk.make_room();
        EXPECT_TRUE(one.try_acquire());
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

// PostgreSQL stops itself when it cannot write its log, maybe after a commit has reached the disk.
TEST(postgres_locks_on_a_full_disk, of_the_log_end_in_time_and_go_on_when_the_server_does) {
    const auto why_not = with_small_disk("size=60m,mode=777", [](small_disk& disk) {
        postgres_server server;
        client c{sql_settings(server.url())};
        ASSERT_TRUE(mutex(c, "stock").acquire().release());
        server.shut_down();
        const auto log = server.data() / "pg_wal";
        const auto place = disk.path() / "pg_wal";
        fs::copy(log, place, fs::copy_options::recursive);
        postgres_server::give_all(place);
        fs::remove_all(log);
        fs::create_directory_symlink(place, log);
        server.start();
        const auto held = mutex{c, "other", {.ttl = 2s * slower, .renew = true}}.acquire();
        disk.fill();
        EXPECT_THROW(
            server.run("SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000)), pg_sleep(0)"
                       " FROM generate_series(1, 20)"),
            std::runtime_error);
        std::error_code why;
        EXPECT_FALSE(mutex(c, "stock").try_acquire(why));
        EXPECT_TRUE(why == condition::try_later || why == condition::unknown) << why.message();
        EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
        EXPECT_FALSE(held.valid());
        disk.make_room();
        server.stop();
        server.start();
        EXPECT_TRUE(mutex(c, "stock").try_acquire_for(patience));
        EXPECT_TRUE(mutex(c, "other").try_acquire_for(patience));
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

}  // namespace
}  // namespace holdfast::test

#endif
