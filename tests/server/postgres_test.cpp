// Locks in PostgreSQL: what other databases have not, or in another way.
#ifdef HOLDFAST_HAS_POSTGRES

#include "backends/postgres/session.hpp"
#include "server/sql_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"
#include "support/forked.hpp"
#include "support/postgres_server.hpp"
#include "support/sanitizers.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class postgres_locks : public ::testing::Test {
  protected:
    [[nodiscard]] bool waits_for_a_replica() {
        return !server.run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'").empty();
    }
    // A commit then waits for a replica that does not exist. The server does that a moment after it was told.
    std::future<lease> acquire_when_commits_wait() {
        server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
        server.run("SELECT pg_reload_conf()");
        return in_background([&] {
            for (;;) {
                auto held = stock.acquire({.ttl = 60s});
                if (commits_wait) return held;
                held.release();
            }
        });
    }

    postgres_server server;
    client c{sql_settings(server.url())};
    mutex stock{c, "stock"};
    std::atomic<bool> commits_wait{false};
};

// --- connections ------------------------------------------------------------------------------------

// The server ends a session whose machine does not answer, and its locks. The client must learn of that, even
// if no packet reaches it: it would never receive a message again.
TEST_F(postgres_locks, are_reached_over_connections_that_notice_a_dead_path) {
    const base::wake_fd stop;
    const auto made = postgres_backend::make_session({.to = postgres_backend::parse_url(server.url()),
                                                      .label = "holdfast:test:1:test",
                                                      .answer_timeout = 2s},
                                                     stop);
    const auto option = [&](int level, int name) {
        int value = 0;
        socklen_t size = sizeof value;
        EXPECT_EQ(::getsockopt(made.watched.get(), level, name, &value, &size), 0);
        return value;
    };
    EXPECT_NE(option(SOL_SOCKET, SO_KEEPALIVE), 0);
    EXPECT_LE(option(IPPROTO_TCP, TCP_KEEPIDLE), 10);
    EXPECT_LE(option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT), 15);
}

TEST_F(postgres_locks, cannot_be_acquired_without_a_connection_left) {
    postgres_server small{{.settings = {"max_connections=5", "superuser_reserved_connections=3"}}};
    small.run("CREATE ROLE app LOGIN; GRANT ALL ON SCHEMA public TO app");
    config how = sql_settings(small.url("postgres", "app"));
    how.answer_timeout = 500ms;
    {
        client first{how};
        client second{how};
        ASSERT_TRUE(mutex(first, "stock").acquire().release());
        ASSERT_TRUE(mutex(second, "stock").acquire().release());
        client third{how};
        mutex of_third{third, "stock"};
        EXPECT_EQ(code_of([&] { (void)of_third.try_acquire(); }), errc::unavailable);
        const auto text = message_of([&] { (void)of_third.try_acquire(); });
        EXPECT_NE(text.find("no connection left"), std::string::npos) << text;
    }
    client later{how};
    EXPECT_TRUE(mutex(later, "stock").try_acquire_for(patience));
}

// It has a connection for statements, and none for messages. Listeners hand the lock to each other.
TEST_F(postgres_locks, have_their_turn_for_a_waiter_that_can_only_poll) {
    ASSERT_TRUE(stock.acquire().release());
    server.run("CREATE ROLE app LOGIN CONNECTION LIMIT 1");
    server.run("GRANT ALL ON ALL TABLES IN SCHEMA public TO app");
    client one{sql_settings(server.url("postgres", "app"))};
    mutex of_one{one, "stock"};
    std::atomic<bool> over{false};
    std::vector<std::future<void>> loops;
    constexpr int listeners = 5;
    for (int i = 0; i < listeners; ++i)
        loops.push_back(in_background([&] {
            client mine{sql_settings(server.url())};
            mutex its{mine, "stock"};
            postgres_server::session work{server};
            while (!over) {
                const auto held = its.acquire();
                work.run("SELECT pg_sleep(0.1)");  // it holds the lock, so that the others wait for it
            }
        }));
    // As many as others wait before one of them is handed the lock.
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(c, "stock").queue.size() >= 4; }));
    for (int turn = 0; turn < 3; ++turn) EXPECT_TRUE(of_one.try_acquire_for(8s * slower)) << turn;
    over = true;
    for (auto& loop : loops) loop.get();
}

// --- commits ----------------------------------------------------------------------------------------

// The commit is there, and its answer is not.
TEST_F(postgres_locks, are_granted_once_if_the_server_dies_before_it_answers) {
    ASSERT_TRUE(stock.acquire().release());
    auto waiter = acquire_when_commits_wait();
    ASSERT_TRUE(eventually(patience, [&] { return waits_for_a_replica(); }));
    commits_wait = true;
    server.run("ALTER SYSTEM RESET synchronous_standby_names");
    server.stop();
    server.start();
    auto held = waiter.get();
    EXPECT_TRUE(held.valid());
    const auto seen = admin::inspect(c, "stock");
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders.front().owner, held.owner().str());
    EXPECT_TRUE(held.release());
}

// PostgreSQL reports success then, with a warning: the grant may be lost by a failover.
TEST_F(postgres_locks, are_not_granted_by_a_commit_that_was_cancelled_while_it_waited_for_a_replica) {
    ASSERT_TRUE(stock.acquire().release());
    auto waiter = acquire_when_commits_wait();
    ASSERT_TRUE(eventually(patience, [&] { return waits_for_a_replica(); }));
    commits_wait = true;
    server.run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    // It asks again, and that commit waits as well.
    ASSERT_TRUE(eventually(patience, [&] { return waits_for_a_replica(); }));
    EXPECT_EQ(waiter.wait_for(0s), std::future_status::timeout);
    server.run("ALTER SYSTEM RESET synchronous_standby_names");
    server.run("SELECT pg_reload_conf()");
    EXPECT_TRUE(waiter.get().valid());
}

// --- the schema -------------------------------------------------------------------------------------

TEST_F(postgres_locks, need_a_table_and_rights_to_it) {
    server.run("CREATE DATABASE bare");
    server.run("CREATE ROLE app LOGIN");
    const auto bare = server.url("bare", "app");
    const auto refused = [&](const std::string& url) {
        return message_of([&] {
            client other{sql_settings(url)};
            (void)mutex(other, "stock").try_acquire();
        });
    };
    const auto without_create = bare.substr(0, bare.find('?'));
    EXPECT_NE(refused(without_create).find("the table of locks does not exist"), std::string::npos)
        << refused(without_create);
    EXPECT_NE(refused(bare).find("right to create tables"), std::string::npos) << refused(bare);
    {
        client owner{sql_settings(server.url("bare"))};
        ASSERT_TRUE(mutex(owner, "stock").acquire().release());
    }
    EXPECT_NE(refused(bare).find("needs the rights SELECT, INSERT and UPDATE"), std::string::npos)
        << refused(bare);
    server.run("GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO app", "bare");
    client app{sql_settings(without_create)};
    EXPECT_TRUE(mutex(app, "stock").acquire().release());
    EXPECT_NE(refused(server.url("nowhere")).find("does not exist"), std::string::npos)
        << refused(server.url("nowhere"));
}

TEST_F(postgres_locks, are_used_although_another_user_has_made_only_the_table_of_locks) {
    server.run("CREATE DATABASE older");
    server.run("CREATE ROLE app LOGIN");
    {
        client owner{sql_settings(server.url("older"))};
        ASSERT_TRUE(mutex(owner, "stock").acquire().release());
    }
    server.run("DROP TABLE holdfast_run", "older");
    server.run("GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO app", "older");
    client app{sql_settings(server.url("older", "app"))};
    EXPECT_TRUE(mutex(app, "stock").acquire().release());
}

}  // namespace
}  // namespace holdfast::test

#endif
