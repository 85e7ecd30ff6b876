// What becomes of locks in PostgreSQL when the server may have lost commits, and what restarts=quarantined
// does about it.
#ifdef HOLDFAST_HAS_POSTGRES

#include "server/sql_scene.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"
#include "support/postgres_server.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class restarted_postgres : public ::testing::Test {
  protected:
    static std::string with_quarantine(const postgres_server& of, const std::string& longest) {
        return of.url() + "&restarts=quarantined&longest_lease=" + longest;
    }
    // As if the server had run for an hour since a client met it first.
    static void make_old(postgres_server& one) {
        {
            client first{sql_settings(one.url())};
            (void)mutex(first, "first").acquire().release();
        }
        one.run("UPDATE holdfast_run SET since = since - interval '1 hour'");
    }

    postgres_server server;
    const std::string url = with_quarantine(server, "1m");
};

TEST_F(restarted_postgres, that_was_shut_down_in_order_grants_at_once) {
    make_old(server);
    client c{sql_settings(url)};
    mutex stock{c, "stock"};
    ASSERT_TRUE(stock.acquire().release());
    server.shut_down();
    server.start();
    client fresh{sql_settings(url)};
    EXPECT_TRUE(mutex(fresh, "stock").acquire().valid());
    EXPECT_TRUE(eventually(patience, [&] { return !refusal(stock) || refusal(stock) != errc::unavailable; }));
    EXPECT_NE(refusal(stock), errc::quarantined);
}

TEST_F(restarted_postgres, that_has_crashed_grants_nothing_until_the_longest_lease_is_over) {
    make_old(server);
    client c{sql_settings(url)};
    mutex stock{c, "stock"};
    auto held = stock.acquire({.ttl = 50s});
    server.stop();
    server.start();
    client fresh{sql_settings(url)};
    mutex other{fresh, "other"};
    EXPECT_EQ(refusal(other), errc::quarantined);
    EXPECT_NE(message_of([&] { (void)other.try_acquire(); }).find("has crashed or was promoted"),
              std::string::npos);
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release()) << "the row is there";
    client trusting{sql_settings(server.url())};
    EXPECT_TRUE(mutex(trusting, "other").acquire().valid());
}

// PostgreSQL ends all sessions then, and recovers.
TEST_F(restarted_postgres, that_had_a_crash_of_one_session_grants_nothing_either) {
    make_old(server);
    client c{sql_settings(url)};
    mutex stock{c, "stock"};
    ASSERT_TRUE(stock.acquire().release());
    server.crash_a_session();
    EXPECT_TRUE(eventually(patience, [&] { return refusal(stock) == errc::quarantined; }));
}

// An asynchronous replica lacks the latest grants.
TEST_F(restarted_postgres, that_is_a_promoted_replica_lets_a_second_holder_in_unless_it_is_quarantined) {
    make_old(server);
    postgres_server replica{{.replica_of = &server}};
    client c{sql_settings(server.url())};
    mutex stock{c, "stock"};
    ASSERT_TRUE(stock.acquire().release());
    ASSERT_TRUE(eventually(patience, [&] {
        return replica.run("SELECT to_regclass('holdfast_lock')")[0][0] == "holdfast_lock" &&
               replica.run("SELECT count(*) FROM holdfast_lock")[0][0] == "2";
    }));
    server.stop_sending();
    const auto held = stock.acquire({.ttl = 50s});
    server.stop();
    replica.promote();
    client careful{sql_settings(with_quarantine(replica, "1m"))};
    mutex of_careful{careful, "stock"};
    EXPECT_EQ(refusal(of_careful), errc::quarantined);
    client trusting{sql_settings(replica.url())};
    EXPECT_TRUE(mutex(trusting, "stock").acquire().valid());
    EXPECT_TRUE(held.valid()) << "two holders: see docs/stores/postgres.md";
}

TEST_F(restarted_postgres, cannot_be_quarantined_without_its_table) {
    {
        client owner{sql_settings(server.url())};
        ASSERT_TRUE(mutex(owner, "stock").acquire().release());
    }
    server.run("CREATE ROLE app LOGIN; GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO app");
    const auto refused = [&] {
        return message_of([&] {
            client other{sql_settings(server.url("postgres", "app") + "&restarts=quarantined")};
            (void)mutex(other, "stock").try_acquire();
        });
    };
    EXPECT_NE(refused().find("needs the rights SELECT and INSERT on the table holdfast_run"),
              std::string::npos)
        << refused();
    server.run("DROP TABLE holdfast_run");
    EXPECT_NE(refused().find("right to create tables"), std::string::npos) << refused();
}

}  // namespace
}  // namespace holdfast::test

#endif
