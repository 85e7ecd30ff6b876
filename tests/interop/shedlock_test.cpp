// ShedLock, with the database's time, on the same rows in PostgreSQL.
#ifdef HOLDFAST_HAS_POSTGRES

#include "interop/counted_turns.hpp"
#include "support/background.hpp"
#include "support/eventually.hpp"
#include "support/peer.hpp"
#include "support/postgres_server.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class beside_shedlock : public ::testing::Test {
  protected:
    void SetUp() override {
        (void)mutex(c, "first").try_acquire();  // makes the table
        java = start_shedlock("jdbc:postgresql://127.0.0.1:" + std::to_string(server.port()) + "/postgres",
                              "holdfast");
    }

    postgres_server server;
    config how = [this] {
        config wanted;
        wanted.url = server.url() + "&layout=shedlock";
        return wanted;
    }();
    client c{how};
    mutex report{c, "report"};
    std::unique_ptr<peer> java;
};

TEST_F(beside_shedlock, one_of_both_has_a_lock) {
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

TEST_F(beside_shedlock, a_lock_that_java_extends_stays_busy) {
    EXPECT_EQ(java->tell("a", "try", "mutex", "report", {0, 4'000}), "true");
    EXPECT_EQ(java->tell("a", "extend", "mutex", "report", {3'600'000}), "true");
    EXPECT_FALSE(report.try_acquire_for(5s));
}

TEST_F(beside_shedlock, a_lock_of_a_killed_java_is_free_when_its_time_is_over) {
    (void)java->tell("a", "lock", "mutex", "report", {0, 1'000});
    java.reset();
    EXPECT_TRUE(report.try_acquire_for(patience));
}

TEST_F(beside_shedlock, java_takes_what_was_evicted) {
    auto held = report.acquire({.ttl = 1h, .renew = false});
    EXPECT_EQ(java->tell("a", "try", "mutex", "report"), "false");
    EXPECT_EQ(admin::evict(c, "report").from.size(), 1U);
    EXPECT_EQ(java->tell("a", "try", "mutex", "report"), "true");
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_FALSE(report.try_acquire());
}

TEST_F(beside_shedlock, no_count_is_lost) {
    // As its users do who need longer names.
    server.run("ALTER TABLE shedlock ALTER COLUMN name TYPE varchar(4096)");
    // As often as Java does. A waiter of ours asks less often, and a loop without a pause leaves nothing to
    // Java.
    const auto counted = take_turns(*java, c, [this](client& on, const std::string& name) {
        mutex lock{on, name};
        for (;;) {
            server.run("SELECT pg_sleep(0.01)");
            if (auto held = lock.try_acquire()) return held;
        }
    });
    EXPECT_EQ(counted.in_file, counted.ours + counted.theirs);
    // Java connects anew for each statement, and has only a few turns on a busy machine.
    EXPECT_GT(counted.ours, 0);
    EXPECT_GT(counted.theirs, 0);
}

}  // namespace
}  // namespace holdfast::test

#endif
