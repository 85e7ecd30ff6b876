// Locks in MariaDB: what other databases have not, or in another way.
#ifdef HOLDFAST_HAS_MARIADB

#include "server/sql_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"
#include "support/mariadb_server.hpp"
#include "support/sanitizers.hpp"
#include "support/wire.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class mariadb_locks : public ::testing::Test {
  protected:
    mariadb_server server;
    client c{sql_settings(server.url())};
    mutex stock{c, "stock"};
};

// --- waiting ---------------------------------------------------------------------------------------

TEST_F(mariadb_locks, wake_the_next_waiter_by_kill_query_where_the_url_says_so) {
    const auto kills = [&] { return std::stoi(server.run("SHOW GLOBAL STATUS LIKE 'Com_kill'")[0][1]); };
    const auto url = server.url() + "&wake=kill";
    client rings{sql_settings(url)};
    client sleeps{sql_settings(url)};
    mutex of_rings{rings, "stock"};
    mutex of_sleeps{sleeps, "stock"};
    for (int i = 0; i < 3; ++i) {
        const auto before = kills();
        auto held = of_rings.acquire();
        auto waiter = in_background([&] { return of_sleeps.acquire(); });
        ASSERT_TRUE(eventually(patience, [&] { return waiting(c) == 1; }));
        EXPECT_EQ(kills(), before) << "nobody is woken for nothing";
        EXPECT_TRUE(held.release());
        EXPECT_TRUE(waiter.get().release());
        EXPECT_TRUE(eventually(patience, [&] { return kills() == before + 1; }));
    }
}

// --- sessions and the server -----------------------------------------------------------------------

// The server looks only now and then whether a client that sleeps is still there.
TEST_F(mariadb_locks, leave_no_session_behind_when_their_client_ends) {
    {
        client d{sql_settings(server.url())};
        EXPECT_TRUE(mutex(d, "other").acquire().release());
        EXPECT_TRUE(eventually(patience, [&] { return server.sessions_of(::getpid()) == 2; })) << "one each";
    }
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually(patience, [&] { return server.sessions_of(::getpid()) == 1; }));
    EXPECT_LT(std::chrono::steady_clock::now() - began, 2s * slower);
}

// Cuts a connection when it has carried a change of a row, before the answer passes.
class answer_is_lost final : public wire::tap {
  public:
    explicit answer_is_lost(std::atomic<int>& left) : left_(left) {}
    void from_client(std::string_view bytes) override {
        const bool changes = bytes.find("UPDATE holdfast_lock SET") != std::string_view::npos;
        if (changes && left_ > 0 && left_.fetch_sub(1) > 0) cuts_ = true;
    }
    bool from_server(std::string_view bytes, std::string& pass) override {
        if (!cuts_) pass.append(bytes);
        return !cuts_;
    }

  private:
    std::atomic<int>& left_;
    bool cuts_ = false;
};

// The commit is there, and its answer is not.
TEST_F(mariadb_locks, are_granted_once_if_the_answer_is_lost) {
    ASSERT_TRUE(stock.acquire().release());  // and the table is made
    std::atomic<int> to_lose{0};
    wire link{server.port(), wire::memory::none, [&] { return std::make_unique<answer_is_lost>(to_lose); }};
    client far{sql_settings("mysql://holdfast@127.0.0.1:" + std::to_string(link.port()) + "/locks")};
    mutex of_far{far, "stock"};
    to_lose = 1;
    auto held = of_far.acquire();
    EXPECT_EQ(to_lose, 0) << "no answer was lost";
    EXPECT_TRUE(held.valid());
    const auto seen = admin::inspect(c, "stock");
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders.front().owner, held.owner().str());
    to_lose = 1;
    EXPECT_TRUE(held.release());
    EXPECT_EQ(to_lose, 0) << "no answer was lost";
    EXPECT_TRUE(stock.try_acquire());
}

TEST_F(mariadb_locks, are_taken_back_from_a_client_that_got_no_answer) {
    ASSERT_TRUE(stock.acquire().release());  // and the table is made
    std::atomic<int> to_lose{0};
    wire link{server.port(), wire::memory::none, [&] { return std::make_unique<answer_is_lost>(to_lose); }};
    auto how = sql_settings("mysql://holdfast@127.0.0.1:" + std::to_string(link.port()) + "/locks", 10min);
    how.answer_timeout = 500ms * slower;
    client far{how};
    mutex of_far{far, "stock"};
    to_lose = 1'000'000;
    EXPECT_TRUE(code_of([&] { (void)of_far.try_acquire(); }));
    to_lose = 0;
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

TEST_F(mariadb_locks, cannot_be_acquired_without_a_connection_left) {
    server.run("CREATE USER app@'%'; GRANT ALL ON locks.* TO app");
    config how = sql_settings(server.url("locks", "app"));
    how.answer_timeout = 500ms * slower;
    client first{how};
    ASSERT_TRUE(mutex(first, "stock").acquire().release());
    server.run("SET GLOBAL max_connections = 10");  // the least
    std::vector<std::unique_ptr<mariadb_server::session>> taken;
    // Sessions that have just ended may still count, and leave room a moment later.
    EXPECT_TRUE(eventually(patience, [&] {
        try {
            for (;;) taken.push_back(std::make_unique<mariadb_server::session>(server));
        } catch (const std::runtime_error&) {  // the server has none left
        }
        client second{how};
        const auto text = message_of([&] { (void)mutex(second, "stock").try_acquire(); });
        return text.find("no connection left") != std::string::npos;
    }));
    taken.clear();
    client later{how};
    EXPECT_TRUE(mutex(later, "stock").try_acquire_for(patience));
}

// The user of the common test has all rights, and is not bound by read_only.
TEST_F(mariadb_locks, are_refused_in_a_session_that_may_not_write_any_more) {
    server.run("CREATE USER app@'%'; GRANT ALL ON locks.* TO app");
    auto how = sql_settings(server.url("locks", "app"));
    how.answer_timeout = 500ms * slower;
    client d{how};
    mutex of_d{d, "stock"};
    ASSERT_TRUE(of_d.acquire().release());
    server.run("SET GLOBAL read_only = ON");
    EXPECT_TRUE(eventually(patience, [&] { return refusal(of_d) == condition::try_later; }));
    server.run("SET GLOBAL read_only = OFF");
    EXPECT_TRUE(eventually(patience, [&] { return !refusal(of_d); }));
}

// --- statements ------------------------------------------------------------------------------------

// Nothing was done, so it is asked again.
TEST_F(mariadb_locks, are_granted_when_a_deadlock_with_a_foreign_transaction_is_over) {
    server.run(
        "CREATE TABLE others (n int PRIMARY KEY, hits int) ENGINE=InnoDB; INSERT INTO others VALUES (1, 0)");
    config how = sql_settings(server.url());
    how.answer_timeout = 30s;
    client patient{how};
    mutex of_patient{patient, "stock"};
    ASSERT_TRUE(of_patient.acquire().release());
    server.run(
        "CREATE TRIGGER slow BEFORE UPDATE ON holdfast_lock FOR EACH ROW"
        " UPDATE others SET hits = hits + 1 WHERE n = 1");
    // The foreign transaction has written more, so ours is the one that is rolled back.
    mariadb_server::session foreign{server};
    foreign.run(
        "BEGIN; INSERT INTO others SELECT seq + 1, 0 FROM seq_1_to_200;"
        " UPDATE others SET hits = 1 WHERE n = 1");
    auto attempt = in_background([&] { return of_patient.try_acquire(); });
    // information_schema.INNODB_LOCK_WAITS is not read anew while it is asked for more often than every 0.1
    // s.
    ASSERT_TRUE(eventually(patience, [&] {
        return server.run("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")[0][1] != "0";
    }));
    try {
        foreign.run("UPDATE holdfast_lock SET changed = changed WHERE name = 'stock'");
        foreign.run("COMMIT");
    } catch (const std::runtime_error&) {  // it was the victim, if ours had waited for too long before
    }
    EXPECT_TRUE(attempt.get()) << "the statement is repeated";
}

// --- the schema ------------------------------------------------------------------------------------

TEST_F(mariadb_locks, need_a_table_and_rights_to_it) {
    server.run("CREATE DATABASE bare; CREATE USER app@'%'");
    const auto refused = [&](const std::string& url) {
        return message_of([&] {
            client other{sql_settings(url)};
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
    expect(without_create, "the table of locks does not exist");
    expect(bare, "right to create tables");
    {
        client owner{sql_settings(server.url("bare"))};
        ASSERT_TRUE(mutex(owner, "stock").acquire().release());
    }
    expect(bare, "needs the rights SELECT, INSERT and UPDATE");
    server.run("GRANT SELECT, INSERT, UPDATE ON bare.holdfast_lock TO app");
    client app{sql_settings(without_create)};
    EXPECT_TRUE(mutex(app, "stock").acquire().release());
    expect(server.url("nowhere"), "the database does not exist");
    expect(server.url("locks", "nobody"), "the server refuses this user");
}

}  // namespace
}  // namespace holdfast::test

#endif
