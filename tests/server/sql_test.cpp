// Locks in an SQL database: processes, the command, rows and the schema.
#if defined(HOLDFAST_HAS_POSTGRES) || defined(HOLDFAST_HAS_MARIADB)

#include "backends/sql/pool.hpp"
#include "backends/sql/unused_rows.hpp"
#include "server/cli_scene.hpp"
#include "server/register_scene.hpp"
#include "server/sql_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/forked.hpp"
#include "support/sanitizers.hpp"

#ifdef HOLDFAST_HAS_MARIADB
#include "backends/mariadb/connection.hpp"
#include "backends/mariadb/schema.hpp"
#endif
#ifdef HOLDFAST_HAS_POSTGRES
#include "backends/postgres/connection.hpp"
#include "backends/postgres/schema.hpp"
#endif

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class sql_locks : public on_sql_server {
  protected:
    [[nodiscard]] child_process start(cli::words words) const {
        words.insert(words.begin(), {"--url", server.url()});
        return cli::start_command(words);
    }

    client c{sql_settings(server.url())};
    mutex stock{c, "stock"};
};
HOLDFAST_ON_EACH_SQL_SERVER(sql_locks);

// --- processes --------------------------------------------------------------------------------------

// TCP sockets of this process that are connected to the server.
int sockets_to(const sql_server& one) {
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

// A thread that makes a session, once the driver has a socket, sleeps only to wait for the server.
bool new_sessions_wait_for_their_server() {
    int waiting = 0;
    int busy = 0;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::string stat;
        std::getline(std::ifstream{task.path() / "stat"}, stat);
        if (stat.find("(holdfast-sql)") == std::string::npos) continue;
        ++(stat.find(") S ") == std::string::npos ? busy : waiting);
    }
    return waiting > 0 && busy == 0;
}

class new_sql_clients : public on_sql_server {};
HOLDFAST_ON_EACH_SQL_SERVER(new_sql_clients);

// The server would wait for both processes before it ends the session.
TEST_P(new_sql_clients, leave_no_socket_to_a_forked_child_while_they_connect) {
    server.pause();
    std::optional<client> c{std::in_place, sql_settings(server.url())};
    ASSERT_TRUE(eventually(patience,
                           [&] { return sockets_to(server) == 1 && new_sessions_wait_for_their_server(); }));
    EXPECT_EQ(in_forked_child([&] {
                  c.reset();
                  return sockets_to(server);
              }),
              0);
    server.resume();
    EXPECT_TRUE(mutex(*c, "stock").try_acquire_for(patience));
}

#ifndef __SANITIZE_THREAD__  // it does not support a thread that a forked child starts
TEST_P(new_sql_clients, keep_their_socket_when_a_child_destroys_the_client_of_its_parent) {
    server.pause();
    std::optional<client> c{std::in_place, sql_settings(server.url())};
    ASSERT_TRUE(eventually(patience,
                           [&] { return sockets_to(server) == 1 && new_sessions_wait_for_their_server(); }));
    const int wrong = in_forked_child([&] {
        const int of_parent = sockets_to(server);
        const client own{sql_settings(server.url())};
        int all = 0;
        const bool connects = eventually(10s, [&] {
            all = sockets_to(server);
            return all > of_parent && new_sessions_wait_for_their_server();
        });
        if (!connects) return 1;
        c.reset();
        return sockets_to(server) < all - of_parent ? 2 : 0;
    });
    EXPECT_EQ(wrong, 0);
    server.resume();
    EXPECT_TRUE(mutex(*c, "stock").try_acquire_for(patience));
}
#endif

TEST_P(sql_locks, of_a_killed_process_are_free_when_their_lease_is_over) {
    auto holder = start({"run", "--ttl", cli::lasting(2s), "stock", "--", "sh", "-c", "echo held; read x"});
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    EXPECT_FALSE(stock.try_acquire());
    holder.kill();
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

TEST_P(sql_locks, pass_over_waiters_whose_process_was_killed) {
    auto held = stock.acquire();
    auto dead = start({"run", "-v", "stock", "--", "true"});
    ASSERT_TRUE(eventually(patience, [&] { return waiting(c) == 1; }));
    client d{sql_settings(server.url())};
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return waiting(c) == 2; }));
    dead.kill();
    // The server notices it when it has read to the end of the connection.
    ASSERT_TRUE(eventually(patience, [&] { return server.sessions_of(dead.pid()) == 0; }));
    EXPECT_TRUE(held.release());
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(std::chrono::steady_clock::now() - began, 2s * slower) << "it is not waited for";
}

TEST_P(sql_locks, count_exactly_over_many_processes) {
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

TEST_P(sql_locks, belong_to_the_parent_after_a_fork) {
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

TEST_P(sql_locks, are_shown_evicted_and_examined_by_the_command) {
    auto holder = start({"run", "--ttl", cli::lasting(3s), "--grace", "100ms", "stock", "--", "sh", "-c",
                         "echo held; exec sleep 100"});
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    auto list = start({"ls"});
    EXPECT_EQ(list.wait(patience), 0) << list.errors();
    EXPECT_NE(list.output().find("stock"), std::string::npos) << list.output();
    ASSERT_TRUE(eventually(patience, [&] { return server.sessions_of(holder.pid()) > 0; }));
    auto inspected = start({"inspect", "stock"});
    EXPECT_EQ(inspected.wait(patience), 0) << inspected.errors();
    EXPECT_NE(inspected.output().find(std::to_string(holder.pid())), std::string::npos) << inspected.output();
    auto evicted = start({"evict", "--yes", "stock"});
    EXPECT_EQ(evicted.wait(patience), 0) << evicted.errors();
    EXPECT_EQ(holder.wait(patience), 75) << "it learns of it at its next renewal at the latest";
    const auto danger = server.endanger_locks();
    auto doctor = start({"doctor"});
    ASSERT_TRUE(doctor.wait(patience)) << doctor.errors();
    EXPECT_NE(doctor.output().find(danger), std::string::npos) << doctor.output() << doctor.errors();
}

// --- rows -------------------------------------------------------------------------------------------

TEST_P(sql_locks, are_lost_with_their_row) {
    const auto held = stock.acquire({.ttl = 1s * slower, .renew = true});
    server.run("DELETE FROM holdfast_lock");
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    client d{sql_settings(server.url())};
    EXPECT_TRUE(mutex(d, "stock").try_acquire());
}

TEST_P(sql_locks, have_growing_fences_although_their_row_was_deleted) {
    mutex ledger{c, "ledger", {.fenced = true}};
    const auto before = to_number(ledger.acquire().fence());
    server.run("DELETE FROM holdfast_lock");
    EXPECT_GT(to_number(ledger.acquire().fence()), before);
}

// A row that the client remembers is not there any more, or is another.
TEST_P(sql_locks, whose_row_was_deleted_or_replaced_are_read_again) {
    mutex ledger{c, "ledger", {.fenced = true}};
    fence last = fence::none;
    for (int i = 0; i < 3; ++i) {
        auto held = ledger.acquire();
        EXPECT_GT(held.fence(), last);
        last = held.fence();
        ASSERT_TRUE(held.release());
    }
    server.run("DELETE FROM holdfast_lock WHERE name = 'ledger'");
    {
        auto held = ledger.acquire();
        EXPECT_GT(held.fence(), last);
        last = held.fence();
        ASSERT_TRUE(held.release());
    }
    // Another client's hold.
    client d{sql_settings(server.url())};
    mutex of_d{d, "ledger", {.fenced = true}};
    auto held = of_d.acquire();
    EXPECT_GT(held.fence(), last);
    EXPECT_FALSE(ledger.try_acquire());
    ASSERT_TRUE(held.release());
    EXPECT_TRUE(ledger.try_acquire());
}

TEST_P(sql_locks, are_told_apart_by_every_byte) {
    const auto held = mutex{c, "Stock"}.acquire();
    for (const char* const other : {"stock", "Stock ",
                                    "St\xc3\xb6"
                                    "ck",
                                    "Sto'ck", "Sto\\ck", "$1"})
        EXPECT_TRUE(mutex(c, other).try_acquire()) << other;
    EXPECT_TRUE(mutex(c, std::string(1024, '\xff')).try_acquire());
    EXPECT_FALSE(mutex(c, "Stock").try_acquire());
}

// A renewal writes many rows by one statement; that row must not hold up the others.
TEST_P(sql_locks, wait_for_a_foreign_transaction_that_has_locked_their_row_and_others_are_renewed) {
    std::vector<lease> others;
    for (int i = 0; i < 20; ++i)
        others.push_back(mutex{c, "other" + std::to_string(i)}.acquire({.ttl = 3s * slower, .renew = true}));
    const auto held = stock.acquire({.ttl = 3s * slower, .renew = true});
    const auto foreign = server.connect();
    foreign->run("BEGIN");
    foreign->run("SELECT 1 FROM holdfast_lock WHERE name = 'stock' FOR UPDATE");
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    for (const auto& one : others) EXPECT_TRUE(one.valid());
    client d{sql_settings(server.url())};
    mutex of_d{d, "stock"};
    EXPECT_TRUE(eventually(patience, [&] {
        const auto why = refusal(of_d);
        return why == condition::try_later || why == condition::unknown;
    })) << "once the row says that the lock is free";
    foreign->run("COMMIT");
    EXPECT_TRUE(of_d.try_acquire_for(patience));
}

TEST_P(sql_locks, work_where_transactions_are_serializable_by_default) {
    server.isolate_by_default();
    constexpr int clients = 4;
    constexpr int rounds = 25;
    int inside = 0;
    std::vector<std::future<void>> all;
    for (int i = 0; i < clients; ++i) {
        all.push_back(in_background([&] {
            client mine{sql_settings(server.url())};
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

const sql_backend::dialect& dialect_of(sql_kind one) {
#ifdef HOLDFAST_HAS_POSTGRES
    if (one == sql_kind::postgres) return postgres_backend::dialect();
#endif
#ifdef HOLDFAST_HAS_MARIADB
    if (one == sql_kind::mariadb) return mariadb_backend::dialect();
#endif
    throw std::logic_error{name_of(one)};
}

sql_backend::session_maker maker_of(sql_kind one, [[maybe_unused]] const std::string& url) {
#ifdef HOLDFAST_HAS_POSTGRES
    if (one == sql_kind::postgres)
        return postgres_backend::maker_of({.to = postgres_backend::parse_url(url),
                                           .label = "holdfast:test:1:test",
                                           .answer_timeout = 2s * slower});
#endif
#ifdef HOLDFAST_HAS_MARIADB
    if (one == sql_kind::mariadb)
        return mariadb_backend::maker_of(
            {.to = mariadb_backend::parse_url(url), .answer_timeout = 2s * slower});
#endif
    throw std::logic_error{name_of(one)};
}

TEST_P(sql_locks, that_nobody_has_used_for_a_week_lose_their_row) {
    auto held = mutex{c, "held"}.acquire({.ttl = 1h});
    latch gate{c, "gate"};
    ASSERT_TRUE(gate.try_set_count(1));
    ASSERT_TRUE(stock.acquire().release());
    ASSERT_TRUE(mutex(c, "recent").acquire().release());
    register_client registers{server.url()};
    const auto written = value_in(registers.change(0, "R"));
    server.run("UPDATE holdfast_lock SET changed = '2001-01-01' WHERE name <> 'recent'");

    io::reactor reactor;
    const auto nothing = [](const auto&...) {};
    sql_backend::pool pool{
        reactor, {maker_of(GetParam(), server.url()), "the database"}, {nothing, nothing, nothing}};
    backends::owner_serials serials;
    sql_backend::knowledge known{sql_backend::versions{1}};
    const sql_backend::change_tools tools{pool, dialect_of(GetParam()), reactor, serials, known, 0ms, "test",
                                          {}};
    std::promise<std::size_t> removed;
    sql_backend::remove_unused_rows(tools, boot_clock::now() + patience,
                                    [&](std::size_t n) { removed.set_value(n); });
    EXPECT_EQ(removed.get_future().get(), 1U);
    EXPECT_EQ(server.run("SELECT 1 FROM holdfast_lock").size(), 4U);
    EXPECT_EQ(value_in(registers.read()), written) << "a register is no lock";
    EXPECT_TRUE(server.run("SELECT 1 FROM holdfast_lock WHERE name = 'stock'").empty());
    EXPECT_TRUE(stock.acquire().release()) << "it is made again";
    EXPECT_TRUE(held.release());
}

TEST_P(sql_locks, have_the_schema_that_the_doctor_prints) {
    server.run("CREATE DATABASE bare");
    server.create_user("our 'a\"pp");
    const auto made = server.url("bare", "our%20%27a%22pp");
    const auto url = made.substr(0, made.find('?'));
    auto doctor = cli::start_command({"--url", url, "doctor", "--sql"});
    ASSERT_EQ(doctor.wait(patience), 0) << doctor.errors();
    server.run(doctor.output(), "bare");
    client app{sql_settings(url + "?restarts=quarantined&longest_lease=100ms", 100ms)};
    mutex of_app{app, "stock"};
    EXPECT_TRUE(of_app.try_acquire_for(patience));
    register_client registers{url};
    const auto written = value_in(registers.change(0, "R"));
    ASSERT_TRUE(written);
    EXPECT_EQ(value_in(registers.change(written->version, "F")).value_or(register_value{}).text, "F");
}

TEST(a_schema, is_printed_only_for_databases) {
    auto doctor = cli::start_command({"--url", "redis://127.0.0.1", "doctor", "--sql"});
    EXPECT_EQ(doctor.wait(patience), 64);
    EXPECT_NE(doctor.errors().find("has no tables"), std::string::npos) << doctor.errors();
}

}  // namespace
}  // namespace holdfast::test

#endif
