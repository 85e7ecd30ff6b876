// Locks in a PostgreSQL database, when something happens to a process, a session, the server or a row.
#ifdef HOLDFAST_HAS_POSTGRES

#include "backends/postgres/connection.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/sql/pool.hpp"
#include "backends/sql/unused_rows.hpp"
#include "server/cli_scene.hpp"
#include "server/postgres_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"
#include "support/forked.hpp"
#include "support/sanitizers.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class postgres_locks : public ::testing::Test {
  protected:
    [[nodiscard]] child_process start(cli::words words) const {
        words.insert(words.begin(), {"--url", server.url()});
        return cli::start_command(words);
    }
    // The server ends all sessions but the one that asks.
    void end_sessions() {
        server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE "
            "'holdfast:%'");
    }
    // As many as connections have been made for a process.
    [[nodiscard]] std::size_t sessions_of(pid_t pid) {
        return server
            .run("SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'holdfast:%:" +
                 std::to_string(pid) + ":%'")
            .size();
    }
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
    client c{postgres_settings(server.url())};
    mutex stock{c, "stock"};
    std::atomic<bool> commits_wait{false};
};

// --- processes --------------------------------------------------------------------------------------

TEST_F(postgres_locks, of_a_killed_process_are_free_when_their_lease_is_over) {
    auto holder = start({"run", "--ttl", "2s", "stock", "--", "sh", "-c", "echo held; read x"});
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    EXPECT_FALSE(stock.try_acquire());
    holder.kill();
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

TEST_F(postgres_locks, pass_over_waiters_whose_process_was_killed) {
    auto held = stock.acquire();
    auto dead = start({"run", "-v", "stock", "--", "true"});
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(c, "stock").queue.size() == 1; }));
    client d{postgres_settings(server.url())};
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(c, "stock").queue.size() == 2; }));
    dead.kill();
    // The server notices it when it has read to the end of the connection.
    ASSERT_TRUE(eventually(patience, [&] { return sessions_of(dead.pid()) == 0; }));
    EXPECT_TRUE(held.release());
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(std::chrono::steady_clock::now() - began, 2s * slower) << "it is not waited for";
}

TEST_F(postgres_locks, count_exactly_over_many_processes) {
    const temp_dir folder;
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
                           HOLDFAST_COMMAND, server.url(), total}});
    }
    for (auto& one : all) EXPECT_EQ(one.wait(patience), 0) << one.errors();
    int counted = 0;
    std::ifstream{total} >> counted;
    EXPECT_EQ(counted, processes * rounds);
}

TEST_F(postgres_locks, belong_to_the_parent_after_a_fork) {
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

// TCP sockets of this process that are connected to the server.
int sockets_to(const postgres_server& one) {
    int n = 0;
    for (int fd = 0; fd < 1'024; ++fd) {
        sockaddr_in to{};
        socklen_t size = sizeof to;
        if (::getpeername(fd, reinterpret_cast<sockaddr*>(&to), &size) == 0 && to.sin_family == AF_INET &&
            ntohs(to.sin_port) == one.port())
            ++n;
    }
    return n;
}

// The server would wait for both processes before it ends the session.
TEST(postgres_client_that_connects, leaves_no_socket_to_a_forked_child) {
    postgres_server slow;
    slow.pause();
    std::optional<client> c{std::in_place, postgres_settings(slow.url())};
    ASSERT_TRUE(eventually(patience, [&] { return sockets_to(slow) == 1; }));
    EXPECT_EQ(in_forked_child([&] {
                  c.reset();
                  return sockets_to(slow);
              }),
              0);
    slow.resume();
    EXPECT_TRUE(mutex(*c, "stock").try_acquire_for(patience));
}

TEST_F(postgres_locks, are_shown_evicted_and_examined_by_the_command) {
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
    ASSERT_TRUE(doctor.wait(patience)) << doctor.errors();
    EXPECT_NE(doctor.output().find("fsync is off"), std::string::npos) << doctor.output() << doctor.errors();
}

// --- sessions and the server ------------------------------------------------------------------------

TEST_F(postgres_locks, are_kept_through_a_crash_of_the_server) {
    const auto held = stock.acquire({.ttl = 60s});
    client d{postgres_settings(server.url())};
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(c, "stock").queue.size() == 1; }));
    server.stop();
    server.start();
    client fresh{postgres_settings(server.url())};
    EXPECT_FALSE(mutex(fresh, "stock").try_acquire());
    EXPECT_TRUE(held.valid());
    ASSERT_TRUE(eventually(patience, [&] { return !admin::inspect(c, "stock").queue.empty(); }));
    EXPECT_TRUE(const_cast<lease&>(held).release());
    EXPECT_TRUE(waiter.get().valid());
}

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

TEST_F(postgres_locks, are_handed_over_after_all_sessions_were_ended) {
    auto held = stock.acquire({.ttl = 60s});
    client d{postgres_settings(server.url())};
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(c, "stock").queue.size() == 1; }));
    end_sessions();
    client fresh{postgres_settings(server.url())};
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(fresh, "stock").queue.size() == 1; }));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(postgres_locks, are_lost_in_time_while_the_server_is_stopped_and_acquired_after_it) {
    event_recorder events{c};
    const auto held = mutex{c, "other", {.ttl = 1s * slower, .renew = true}}.acquire();
    auto config = postgres_settings(server.url());
    config.patience = patience;
    client d{config};
    mutex of_d{d, "stock"};
    ASSERT_TRUE(of_d.acquire().release());
    server.pause();
    auto waiter = in_background([&] { return of_d.acquire(); });
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_FALSE(held.valid());
    server.resume();
    // An attempt that was never answered is not repeated for long.
    try {
        EXPECT_TRUE(waiter.get().valid());
    } catch (const error& e) {
        EXPECT_TRUE(e.code() == condition::try_later || e.code() == errc::unknown_outcome) << e.what();
    }
    EXPECT_TRUE(of_d.try_acquire_for(patience));
}

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
    std::vector<std::unique_ptr<postgres_server::session>> taken;
    small.run("SELECT 1");
    config how = postgres_settings(small.url("postgres", "app"));
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

TEST_F(postgres_locks, cannot_be_acquired_while_the_server_takes_no_writes) {
    auto how = postgres_settings(server.url());
    how.answer_timeout = 500ms;
    client d{how};
    mutex of_d{d, "stock"};
    ASSERT_TRUE(of_d.acquire().release());
    server.run("ALTER DATABASE postgres SET default_transaction_read_only = on");
    end_sessions();
    const auto why = code_of([&] { (void)of_d.try_acquire(); });
    EXPECT_TRUE(why == condition::try_later) << why.message();
    {
        postgres_server::session writes{server, "postgres"};
        writes.run("SET default_transaction_read_only = off");
        writes.run("ALTER DATABASE postgres RESET default_transaction_read_only");
    }
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code none;
        return static_cast<bool>(of_d.try_acquire(none));
    }));
}

// It has a connection for statements, and none for messages. Listeners hand the lock to each other.
TEST_F(postgres_locks, have_their_turn_for_a_waiter_that_can_only_poll) {
    ASSERT_TRUE(stock.acquire().release());
    server.run("CREATE ROLE app LOGIN CONNECTION LIMIT 1");
    server.run("GRANT ALL ON ALL TABLES IN SCHEMA public TO app");
    client one{postgres_settings(server.url("postgres", "app"))};
    mutex of_one{one, "stock"};
    std::atomic<bool> over{false};
    std::vector<std::future<void>> loops;
    constexpr int listeners = 5;
    for (int i = 0; i < listeners; ++i)
        loops.push_back(in_background([&] {
            client mine{postgres_settings(server.url())};
            mutex its{mine, "stock"};
            postgres_server::session work{server, "postgres"};
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

// --- rows -------------------------------------------------------------------------------------------

TEST_F(postgres_locks, are_lost_with_their_row) {
    const auto held = stock.acquire({.ttl = 1s * slower, .renew = true});
    server.run("DELETE FROM holdfast_lock");
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    client d{postgres_settings(server.url())};
    EXPECT_TRUE(mutex(d, "stock").try_acquire());
}

TEST_F(postgres_locks, have_growing_fences_although_their_row_was_deleted) {
    mutex ledger{c, "ledger", {.fenced = true}};
    const auto before = to_number(ledger.acquire().fence());
    server.run("DELETE FROM holdfast_lock");
    EXPECT_GT(to_number(ledger.acquire().fence()), before);
}

TEST_F(postgres_locks, wait_for_a_foreign_transaction_that_has_locked_their_row_and_are_lost_in_time) {
    const auto other = mutex{c, "other", {.ttl = 2s * slower, .renew = true}}.acquire();
    const auto held = stock.acquire({.ttl = 2s * slower, .renew = true});
    postgres_server::session foreign{server, "postgres"};
    foreign.run("BEGIN");
    foreign.run("SELECT 1 FROM holdfast_lock WHERE name = 'stock' FOR UPDATE");
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_TRUE(other.valid()) << "it is renewed alone";
    client d{postgres_settings(server.url())};
    mutex of_d{d, "stock"};
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code why;
        return !of_d.try_acquire(why) && (why == condition::try_later || why == condition::unknown);
    })) << "once the row says that the lock is free";
    foreign.run("COMMIT");
    EXPECT_TRUE(of_d.try_acquire_for(patience));
}

TEST_F(postgres_locks, work_where_transactions_are_serializable_by_default) {
    server.run("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'");
    constexpr int clients = 4;
    constexpr int rounds = 25;
    int inside = 0;
    std::vector<std::future<void>> all;
    for (int i = 0; i < clients; ++i) {
        all.push_back(in_background([&] {
            client mine{postgres_settings(server.url())};
            mutex one{mine, "stock"};
            for (int n = 0; n < rounds; ++n) {
                const auto held = one.acquire();
                ++inside;
            }
        }));
    }
    for (auto& one : all) one.get();
    EXPECT_EQ(inside, clients * rounds);
}

// --- the schema -------------------------------------------------------------------------------------

TEST_F(postgres_locks, that_nobody_has_used_for_a_week_lose_their_row) {
    auto held = mutex{c, "held"}.acquire({.ttl = 1h});
    latch gate{c, "gate"};
    ASSERT_TRUE(gate.try_set_count(1));
    ASSERT_TRUE(stock.acquire().release());
    ASSERT_TRUE(mutex(c, "recent").acquire().release());
    server.run("UPDATE holdfast_lock SET changed = current_date - 8 WHERE name <> 'recent'");

    io::reactor reactor;
    postgres_backend::session_options how{.to = postgres_backend::parse_url(server.url()),
                                          .label = "holdfast:test:1:test",
                                          .answer_timeout = 2s};
    const auto nothing = [](const auto&...) {};
    sql_backend::pool pool{
        reactor, {postgres_backend::maker_of(how), how.to.where}, {nothing, nothing, nothing}};
    backends::owner_serials serials;
    sql_backend::knowledge known{sql_backend::versions{1}};
    const sql_backend::change_tools tools{
        pool, postgres_backend::dialect(), reactor, serials, known, 0ms, "test", {}};
    std::promise<std::size_t> removed;
    sql_backend::remove_unused_rows(tools, boot_clock::now() + patience,
                                    [&](std::size_t n) { removed.set_value(n); });
    EXPECT_EQ(removed.get_future().get(), 1U);
    const auto left = server.run("SELECT encode(name, 'escape') FROM holdfast_lock ORDER BY name");
    EXPECT_EQ(left, (postgres_server::rows{{"gate"}, {"held"}, {"recent"}}));
    EXPECT_TRUE(stock.acquire().release()) << "it is made again";
    EXPECT_TRUE(held.release());
}

TEST_F(postgres_locks, need_a_table_and_rights_to_it) {
    server.run("CREATE DATABASE bare");
    server.run("CREATE ROLE app LOGIN");
    const auto bare = server.url("bare", "app");
    const auto refused = [&](const std::string& url) {
        return message_of([&] {
            client other{postgres_settings(url)};
            (void)mutex(other, "stock").try_acquire();
        });
    };
    const auto without_create = bare.substr(0, bare.find('?'));
    EXPECT_NE(refused(without_create).find("the table of locks does not exist"), std::string::npos)
        << refused(without_create);
    EXPECT_NE(refused(bare).find("right to create tables"), std::string::npos) << refused(bare);
    {
        client owner{postgres_settings(server.url("bare"))};
        ASSERT_TRUE(mutex(owner, "stock").acquire().release());
    }
    EXPECT_NE(refused(bare).find("needs the rights SELECT, INSERT and UPDATE"), std::string::npos)
        << refused(bare);
    server.run("GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO app", "bare");
    client app{postgres_settings(without_create)};
    EXPECT_TRUE(mutex(app, "stock").acquire().release());
    EXPECT_NE(refused(server.url("nowhere")).find("does not exist"), std::string::npos)
        << refused(server.url("nowhere"));
}

TEST_F(postgres_locks, have_the_schema_that_the_doctor_prints) {
    server.run("CREATE DATABASE bare");
    server.run("CREATE ROLE \"our app\" LOGIN");
    const auto url = "postgres://our%20app@127.0.0.1:" + std::to_string(server.port()) + "/bare";
    auto doctor = cli::start_command({"--url", url, "doctor", "--sql"});
    ASSERT_EQ(doctor.wait(patience), 0) << doctor.errors();
    server.run(doctor.output(), "bare");
    client app{postgres_settings(url + "?restarts=quarantined&longest_lease=100ms", 100ms)};
    mutex of_app{app, "stock"};
    EXPECT_TRUE(of_app.try_acquire_for(patience));
    // A redis server has no tables.
    auto other = cli::start_command({"--url", "redis://127.0.0.1", "doctor", "--sql"});
    EXPECT_EQ(other.wait(patience), 64);
    EXPECT_NE(other.errors().find("has no tables"), std::string::npos) << other.errors();
}

TEST_F(postgres_locks, are_used_although_another_user_has_made_only_the_table_of_locks) {
    server.run("CREATE DATABASE older");
    server.run("CREATE ROLE app LOGIN");
    {
        client owner{postgres_settings(server.url("older"))};
        ASSERT_TRUE(mutex(owner, "stock").acquire().release());
    }
    server.run("DROP TABLE holdfast_run", "older");
    server.run("GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO app", "older");
    client app{postgres_settings(server.url("older", "app"))};
    EXPECT_TRUE(mutex(app, "stock").acquire().release());
}

}  // namespace
}  // namespace holdfast::test

#endif
