// ShedLock, with the database's time, on the same rows in a database.
#include "interop/counted_turns.hpp"
#include "support/background.hpp"
#include "support/eventually.hpp"
#include "support/peer.hpp"
#include "support/sql_server.hpp"
#ifdef HOLDFAST_HAS_MARIADB
#include "support/mariadb_server.hpp"
#endif

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<peer> start_java(sql_kind one, const sql_server& server) {
    const std::string protocol = one == sql_kind::postgres ? "jdbc:postgresql" : "jdbc:mariadb";
    return start_shedlock(
        protocol + "://127.0.0.1:" + std::to_string(server.port()) + '/' + server.first_database(),
        "holdfast");
}

config settings_for_shedlock(const sql_server& server) {
    config how;
    how.url = server.url(server.first_database(), "holdfast") + "&layout=shedlock";
    return how;
}

class beside_shedlock : public ::testing::TestWithParam<sql_kind> {
  protected:
    void SetUp() override {
        (void)mutex(c, "first").try_acquire();  // makes the table
        java = start_java(GetParam(), *server);
    }

    const std::unique_ptr<sql_server> server = start_sql_server(GetParam());
    client c{settings_for_shedlock(*server)};
    mutex report{c, "report"};
    std::unique_ptr<peer> java;
};
INSTANTIATE_TEST_SUITE_P(, beside_shedlock, ::testing::ValuesIn(sql_kinds()),
                         [](const auto& one) { return name_of(one.param); });

TEST_P(beside_shedlock, one_of_both_has_a_lock) {
    (void)java->tell("a", "lock", "mutex", "report");
    EXPECT_FALSE(report.try_acquire());
    EXPECT_EQ(admin::inspect(c, "report").layout, "lock of ShedLock");
    auto waiter = in_background([&] { return report.acquire(); });
    (void)java->tell("a", "unlock", "mutex", "report");
    auto held = waiter.get();
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(java->tell("a", "try", "mutex", "report"), "false");
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(java->tell("a", "try", "mutex", "report"), "true");
}

TEST_P(beside_shedlock, a_lock_that_java_extends_stays_busy) {
    EXPECT_EQ(java->tell("a", "try", "mutex", "report", {0, 4'000}), "true");
    EXPECT_EQ(java->tell("a", "extend", "mutex", "report", {3'600'000}), "true");
    EXPECT_FALSE(report.try_acquire_for(5s));
}

TEST_P(beside_shedlock, a_lock_of_a_killed_java_is_free_when_its_time_is_over) {
    (void)java->tell("a", "lock", "mutex", "report", {0, 1'000});
    java.reset();
    EXPECT_TRUE(report.try_acquire_for(patience));
}

TEST_P(beside_shedlock, java_takes_what_was_evicted) {
    auto held = report.acquire({.ttl = 1h, .renew = false});
    EXPECT_EQ(java->tell("a", "try", "mutex", "report"), "false");
    EXPECT_EQ(admin::evict(c, "report").from.size(), 1U);
    EXPECT_EQ(java->tell("a", "try", "mutex", "report"), "true");
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_FALSE(report.try_acquire());
}

TEST_P(beside_shedlock, no_count_is_lost) {
    // As its users do who need longer names.
    server->run(GetParam() == sql_kind::postgres ? "ALTER TABLE shedlock ALTER COLUMN name TYPE varchar(512)"
                                                 : "ALTER TABLE shedlock MODIFY name varchar(512) NOT NULL");
    // As often as Java does. A waiter of ours asks less often, and a loop without a pause leaves nothing to
    // Java.
    const auto counted = take_turns(*java, c, [this](client& on, const std::string& name) {
        mutex lock{on, name};
        for (;;) {
            server->run(GetParam() == sql_kind::postgres ? "SELECT pg_sleep(0.01)" : "DO SLEEP(0.01)");
            if (auto held = lock.try_acquire()) return held;
        }
    });
    EXPECT_EQ(counted.in_file, counted.ours + counted.theirs);
    // Java connects anew for each statement, and has only a few turns on a busy machine.
    EXPECT_GT(counted.ours, 0);
    EXPECT_GT(counted.theirs, 0);
}

#ifdef HOLDFAST_HAS_MARIADB
// A TIMESTAMP means another time in a session of another time zone. Java's sessions have that of the server.
TEST(beside_shedlock_in_mariadb, one_of_both_has_a_lock_in_the_documented_table_in_another_time_zone) {
    mariadb_server server{{.settings = {"default-time-zone=+05:00"}}};
    server.run(
        "CREATE TABLE shedlock (name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL,"
        " locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL,"
        " PRIMARY KEY (name))");
    client c{settings_for_shedlock(server)};
    mutex report{c, "report"};
    const auto java = start_java(sql_kind::mariadb, server);
    EXPECT_EQ(java->tell("a", "try", "mutex", "report"), "true");
    EXPECT_FALSE(report.try_acquire());
    (void)java->tell("a", "unlock", "mutex", "report");
    auto held = report.acquire();
    EXPECT_EQ(java->tell("a", "try", "mutex", "report"), "false");
    EXPECT_TRUE(held.release());
    EXPECT_EQ(java->tell("a", "try", "mutex", "report"), "true");
}
#endif

}  // namespace
}  // namespace holdfast::test
