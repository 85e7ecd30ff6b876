// Locks in a MariaDB database: processes, the command, rows and the schema.
#ifdef HOLDFAST_HAS_MARIADB

#include "backends/mariadb/connection.hpp"
#include "backends/mariadb/schema.hpp"
#include "backends/sql/pool.hpp"
#include "backends/sql/unused_rows.hpp"
#include "server/cli_scene.hpp"
#include "server/mariadb_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/forked.hpp"
#include "support/sanitizers.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class mariadb_locks : public ::testing::Test {
  protected:
    [[nodiscard]] child_process start(cli::words words) const {
        words.insert(words.begin(), {"--url", server.url()});
        return cli::start_command(words);
    }
    [[nodiscard]] std::size_t waiting() { return admin::inspect(c, "stock").queue.size(); }

    mariadb_server server;
    client c{mariadb_settings(server.url())};
    mutex stock{c, "stock"};
};

// --- processes --------------------------------------------------------------------------------------

TEST_F(mariadb_locks, of_a_killed_process_are_free_when_their_lease_is_over) {
    auto holder = start({"run", "--ttl", "2s", "stock", "--", "sh", "-c", "echo held; read x"});
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    EXPECT_FALSE(stock.try_acquire());
    holder.kill();
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

TEST_F(mariadb_locks, pass_over_waiters_whose_process_was_killed) {
    auto held = stock.acquire();
    auto dead = start({"run", "-v", "stock", "--", "true"});
    ASSERT_TRUE(eventually(patience, [&] { return waiting() == 1; }));
    client d{mariadb_settings(server.url())};
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return waiting() == 2; }));
    dead.kill();
    // The server notices it when it has read to the end of the connection.
    ASSERT_TRUE(eventually(patience, [&] { return server.sessions_of(dead.pid()) == 0; }));
    EXPECT_TRUE(held.release());
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(std::chrono::steady_clock::now() - began, 2s * slower) << "it is not waited for";
}

TEST_F(mariadb_locks, wake_the_next_waiter_by_kill_query_where_the_url_says_so) {
    const auto kills = [&] { return std::stoi(server.run("SHOW GLOBAL STATUS LIKE 'Com_kill'")[0][1]); };
    const auto url = server.url() + "&wake=kill";
    client rings{mariadb_settings(url)};
    client sleeps{mariadb_settings(url)};
    mutex of_rings{rings, "stock"};
    mutex of_sleeps{sleeps, "stock"};
    for (int i = 0; i < 3; ++i) {
        const auto before = kills();
        auto held = of_rings.acquire();
        auto waiter = in_background([&] { return of_sleeps.acquire(); });
        ASSERT_TRUE(eventually(patience, [&] { return waiting() == 1; }));
        EXPECT_EQ(kills(), before) << "nobody is woken for nothing";
        EXPECT_TRUE(held.release());
        EXPECT_TRUE(waiter.get().release());
        EXPECT_TRUE(eventually(patience, [&] { return kills() == before + 1; }));
    }
}

// The server looks only now and then whether a client that sleeps is still there.
TEST_F(mariadb_locks, leave_no_session_behind_when_their_client_ends) {
    {
        client d{mariadb_settings(server.url())};
        EXPECT_TRUE(mutex(d, "other").acquire().release());
        EXPECT_EQ(server.sessions_of(::getpid()), 2U);
    }
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually(patience, [&] { return server.sessions_of(::getpid()) == 1; }));
    EXPECT_LT(std::chrono::steady_clock::now() - began, 2s * slower);
}

TEST_F(mariadb_locks, count_exactly_over_many_processes) {
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

TEST_F(mariadb_locks, belong_to_the_parent_after_a_fork) {
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

TEST_F(mariadb_locks, are_shown_evicted_and_examined_by_the_command) {
    auto holder = start(
        {"run", "--ttl", "3s", "--grace", "100ms", "stock", "--", "sh", "-c", "echo held; exec sleep 100"});
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    auto list = start({"ls"});
    EXPECT_EQ(list.wait(patience), 0) << list.errors();
    EXPECT_NE(list.output().find("stock"), std::string::npos) << list.output();
    ASSERT_TRUE(eventually(patience, [&] { return server.sessions_of(holder.pid()) == 1; }));
    auto inspected = start({"inspect", "stock"});
    EXPECT_EQ(inspected.wait(patience), 0) << inspected.errors();
    EXPECT_NE(inspected.output().find(std::to_string(holder.pid())), std::string::npos) << inspected.output();
    auto evicted = start({"evict", "--yes", "stock"});
    EXPECT_EQ(evicted.wait(patience), 0) << evicted.errors();
    EXPECT_EQ(holder.wait(patience), 75) << "it learns of it at its next renewal";
    server.run("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    auto doctor = start({"doctor"});
    ASSERT_TRUE(doctor.wait(patience)) << doctor.errors();
    EXPECT_NE(doctor.output().find("innodb_flush_log_at_trx_commit is 0"), std::string::npos)
        << doctor.output() << doctor.errors();
}

// --- rows -------------------------------------------------------------------------------------------

TEST_F(mariadb_locks, are_lost_with_their_row) {
    const auto held = stock.acquire({.ttl = 1s * slower, .renew = true});
    server.run("DELETE FROM holdfast_lock");
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    client d{mariadb_settings(server.url())};
    EXPECT_TRUE(mutex(d, "stock").try_acquire());
}

TEST_F(mariadb_locks, have_growing_fences_although_their_row_was_deleted) {
    mutex ledger{c, "ledger", {.fenced = true}};
    const auto before = to_number(ledger.acquire().fence());
    server.run("DELETE FROM holdfast_lock");
    EXPECT_GT(to_number(ledger.acquire().fence()), before);
}

TEST_F(mariadb_locks, are_told_apart_by_every_byte) {
    const auto held = mutex{c, "Stock"}.acquire();
    for (const char* const other : {"stock", "Stock ",
                                    "St\xc3\xb6"
                                    "ck",
                                    "Sto'ck", "Sto\\ck", "$1"})
        EXPECT_TRUE(mutex(c, other).try_acquire()) << other;
    EXPECT_TRUE(mutex(c, std::string(1024, '\xff')).try_acquire());
    EXPECT_FALSE(mutex(c, "Stock").try_acquire());
}

// A renewal writes many rows by one statement, in the order of their names, and leaves out what is locked.
TEST_F(mariadb_locks, are_renewed_beside_one_whose_row_a_foreign_transaction_has_locked) {
    std::vector<lease> others;
    for (int i = 0; i < 20; ++i)
        others.push_back(mutex{c, "other" + std::to_string(i)}.acquire({.ttl = 3s * slower, .renew = true}));
    const auto held = stock.acquire({.ttl = 3s * slower, .renew = true});
    mariadb_server::session foreign{server};
    foreign.run("BEGIN");
    foreign.run("SELECT 1 FROM holdfast_lock WHERE name = 'stock' FOR UPDATE");
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    for (const auto& one : others) EXPECT_TRUE(one.valid());
    foreign.run("COMMIT");
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

TEST_F(mariadb_locks, work_where_transactions_are_serializable_by_default) {
    server.run("SET GLOBAL tx_isolation = 'SERIALIZABLE', GLOBAL autocommit = 0");
    constexpr int clients = 4;
    constexpr int rounds = 25;
    int inside = 0;
    std::vector<std::future<void>> all;
    for (int i = 0; i < clients; ++i) {
        all.push_back(in_background([&] {
            client mine{mariadb_settings(server.url())};
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

TEST_F(mariadb_locks, that_nobody_has_used_for_a_week_lose_their_row) {
    auto held = mutex{c, "held"}.acquire({.ttl = 1h});
    latch gate{c, "gate"};
    ASSERT_TRUE(gate.try_set_count(1));
    ASSERT_TRUE(stock.acquire().release());
    ASSERT_TRUE(mutex(c, "recent").acquire().release());
    server.run("UPDATE holdfast_lock SET changed = UTC_DATE() - INTERVAL 8 DAY WHERE name <> 'recent'");

    io::reactor reactor;
    mariadb_backend::session_options how{.to = mariadb_backend::parse_url(server.url()),
                                         .answer_timeout = 2s};
    const auto nothing = [](const auto&...) {};
    sql_backend::pool pool{reactor, {mariadb_backend::maker_of(how)}, {nothing, nothing, nothing}};
    backends::owner_serials serials;
    sql_backend::knowledge known{sql_backend::versions{1}};
    const sql_backend::change_tools tools{
        pool, mariadb_backend::dialect(), reactor, serials, known, 0ms, "test", {}};
    std::promise<std::size_t> removed;
    sql_backend::remove_unused_rows(tools, boot_clock::now() + patience,
                                    [&](std::size_t n) { removed.set_value(n); });
    EXPECT_EQ(removed.get_future().get(), 1U);
    const auto left = server.run("SELECT name FROM holdfast_lock ORDER BY name");
    EXPECT_EQ(left, (mariadb_server::rows{{"gate"}, {"held"}, {"recent"}}));
    EXPECT_TRUE(stock.acquire().release()) << "it is made again";
    EXPECT_TRUE(held.release());
}

TEST_F(mariadb_locks, need_a_table_and_rights_to_it) {
    server.run("CREATE DATABASE bare; CREATE USER app@'%'");
    const auto refused = [&](const std::string& url) {
        return message_of([&] {
            client other{mariadb_settings(url)};
            (void)mutex(other, "stock").try_acquire();
        });
    };
    const auto bare = server.url("bare", "app");
    const auto without_create = bare.substr(0, bare.find('?'));
    const auto expect = [&](const std::string& url, const std::string& text) {
        const auto why = refused(url);
        EXPECT_NE(why.find(text), std::string::npos) << why;
    };
    expect(bare, "this user has no rights in the database");
    server.run("GRANT DELETE ON bare.* TO app");
    expect(bare, "needs the rights SELECT, INSERT and UPDATE");
    server.run("GRANT SELECT ON bare.* TO app");
    expect(without_create, "the table holdfast_lock does not exist");
    expect(bare, "right to create tables");
    {
        client owner{mariadb_settings(server.url("bare"))};
        ASSERT_TRUE(mutex(owner, "stock").acquire().release());
    }
    expect(bare, "needs the rights SELECT, INSERT and UPDATE");
    server.run("GRANT SELECT, INSERT, UPDATE ON bare.holdfast_lock TO app");
    client app{mariadb_settings(without_create)};
    EXPECT_TRUE(mutex(app, "stock").acquire().release());
    expect(server.url("nowhere"), "the database does not exist");
    expect(server.url("locks", "nobody"), "the server refuses this user");
}

TEST_F(mariadb_locks, have_the_schema_that_the_doctor_prints) {
    server.run("CREATE DATABASE bare; CREATE USER 'our ''app'@'%'");
    const auto url = "mariadb://our%20%27app@127.0.0.1:" + std::to_string(server.port()) + "/bare";
    auto doctor = cli::start_command({"--url", url, "doctor", "--sql"});
    ASSERT_EQ(doctor.wait(patience), 0) << doctor.errors();
    server.run(doctor.output(), "bare");
    client app{mariadb_settings(url)};
    EXPECT_TRUE(mutex(app, "stock").try_acquire());
}

}  // namespace
}  // namespace holdfast::test

#endif
