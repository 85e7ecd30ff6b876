// Locks in MariaDB when a session ends, or the server lacks something, is slow, stops or has its clock set
// back.
#ifdef HOLDFAST_HAS_MARIADB

#include "server/mariadb_scene.hpp"
#include "support/background.hpp"
#include "support/certificates.hpp"
#include "support/errors.hpp"
#include "support/sanitizers.hpp"
#include "support/wire.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class faulty_mariadb : public ::testing::Test {
  protected:
    [[nodiscard]] std::size_t waiting(client& by) { return admin::inspect(by, "stock").queue.size(); }
    // What the server does before each change of a row.
    void before_each_change(const std::string& body) {
        server.run("CREATE OR REPLACE TRIGGER trouble BEFORE UPDATE ON holdfast_lock FOR EACH ROW " + body);
    }
    void end_trouble() { server.run("DROP TRIGGER trouble"); }
    static bool refused(mutex& lock, const std::error_condition& as) {
        std::error_code why;
        return !lock.try_acquire(why) && why == as;
    }

    mariadb_server server;
    client c{mariadb_settings(server.url())};
    mutex stock{c, "stock"};
};

// --- sessions and the server ------------------------------------------------------------------------

TEST_F(faulty_mariadb, keeps_its_locks_through_a_crash) {
    auto held = stock.acquire({.ttl = 60s});
    client d{mariadb_settings(server.url())};
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return waiting(c) == 1; }));
    server.stop();
    server.start();
    client fresh{mariadb_settings(server.url())};
    EXPECT_FALSE(mutex(fresh, "stock").try_acquire());
    EXPECT_TRUE(held.valid());
    ASSERT_TRUE(eventually(patience, [&] { return waiting(fresh) == 1; }));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid());
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
TEST_F(faulty_mariadb, grants_once_if_the_answer_is_lost) {
    ASSERT_TRUE(stock.acquire().release());  // and the table is made
    std::atomic<int> to_lose{0};
    wire link{server.port(), wire::memory::none, [&] { return std::make_unique<answer_is_lost>(to_lose); }};
    client far{mariadb_settings("mysql://holdfast@127.0.0.1:" + std::to_string(link.port()) + "/locks")};
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

TEST_F(faulty_mariadb, takes_back_what_it_may_have_granted_to_a_client_that_got_no_answer) {
    ASSERT_TRUE(stock.acquire().release());  // and the table is made
    std::atomic<int> to_lose{0};
    wire link{server.port(), wire::memory::none, [&] { return std::make_unique<answer_is_lost>(to_lose); }};
    auto how =
        mariadb_settings("mysql://holdfast@127.0.0.1:" + std::to_string(link.port()) + "/locks", 10min);
    how.answer_timeout = 500ms * slower;
    client far{how};
    mutex of_far{far, "stock"};
    to_lose = 1'000'000;
    EXPECT_TRUE(code_of([&] { (void)of_far.try_acquire(); }));
    to_lose = 0;
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

TEST_F(faulty_mariadb, hands_over_after_all_sessions_were_ended) {
    auto held = stock.acquire({.ttl = 60s});
    client d{mariadb_settings(server.url())};
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return waiting(c) == 1; }));
    server.end_sessions();
    client fresh{mariadb_settings(server.url())};
    ASSERT_TRUE(eventually(patience, [&] { return waiting(fresh) == 1; }));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(faulty_mariadb, that_is_stopped_loses_leases_in_time_and_grants_after_it) {
    const auto held = mutex{c, "other", {.ttl = 1s * slower, .renew = true}}.acquire();
    auto how = mariadb_settings(server.url());
    how.patience = patience;
    client d{how};
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

TEST_F(faulty_mariadb, without_a_connection_left_says_so) {
    server.run("CREATE USER app@'%'; GRANT ALL ON locks.* TO app");
    config how = mariadb_settings(server.url("locks", "app"));
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

// read_only does not bind a user with all rights, but says that the server is a replica.
TEST_F(faulty_mariadb, that_takes_no_writes_grants_nothing) {
    server.run("CREATE USER app@'%'; GRANT ALL ON locks.* TO app");
    for (const char* const user : {"app", "holdfast"}) {
        auto how = mariadb_settings(server.url("locks", user));
        how.answer_timeout = 500ms * slower;
        client d{how};
        mutex of_d{d, "stock"};
        ASSERT_TRUE(of_d.acquire().release());
        server.run("SET GLOBAL read_only = ON");
        if (std::string_view{user} == "holdfast") server.end_sessions();
        EXPECT_TRUE(eventually(patience, [&] {
            return refused(of_d, make_error_condition(condition::try_later));
        })) << user;
        server.run("SET GLOBAL read_only = OFF");
        EXPECT_TRUE(eventually(patience, [&] {
            std::error_code none;
            return static_cast<bool>(of_d.try_acquire(none));
        })) << user;
    }
}

// --- statements -------------------------------------------------------------------------------------

TEST_F(faulty_mariadb, with_a_full_table_grants_nothing_and_goes_on_when_there_is_room) {
    ASSERT_TRUE(stock.acquire().release());
    before_each_change("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'");
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire(); }), errc::out_of_memory);
    const auto text = message_of([&] { (void)stock.try_acquire(); });
    EXPECT_NE(text.find("the server's disk is full"), std::string::npos) << text;
    end_trouble();
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

// Nothing was done, so it is asked again.
TEST_F(faulty_mariadb, in_a_deadlock_with_a_foreign_transaction_grants_when_it_is_over) {
    server.run(
        "CREATE TABLE others (n int PRIMARY KEY, hits int) ENGINE=InnoDB; INSERT INTO others VALUES (1, 0)");
    config how = mariadb_settings(server.url());
    how.answer_timeout = 30s;
    client patient{how};
    mutex of_patient{patient, "stock"};
    ASSERT_TRUE(of_patient.acquire().release());
    before_each_change("UPDATE others SET hits = hits + 1 WHERE n = 1");
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

TEST_F(faulty_mariadb, whose_row_a_foreign_transaction_has_locked_refuses_it_and_serves_others) {
    ASSERT_TRUE(stock.acquire().release());
    mariadb_server::session foreign{server};
    foreign.run("BEGIN; SELECT 1 FROM holdfast_lock WHERE name = 'stock' FOR UPDATE");
    EXPECT_TRUE(mutex(c, "other").try_acquire());
    const auto text = message_of([&] { (void)stock.try_acquire(); });
    EXPECT_FALSE(text.empty());
    EXPECT_TRUE(mutex(c, "other").try_acquire());
    foreign.run("COMMIT");
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

TEST_F(faulty_mariadb, that_takes_too_long_for_a_statement_cancels_it) {
    config how = mariadb_settings(server.url());
    how.answer_timeout = 1s * slower;
    how.patience = 1s * slower;
    client hasty{how};
    mutex of_hasty{hasty, "stock"};
    ASSERT_TRUE(of_hasty.acquire().release());
    before_each_change("DO SLEEP(3600)");
    std::error_code why;
    EXPECT_FALSE(of_hasty.try_acquire(why));
    EXPECT_TRUE(why == condition::try_later || why == condition::unknown) << why.message();
    end_trouble();
    EXPECT_TRUE(of_hasty.try_acquire_for(patience));
}

// A table that an operator deletes is no reason to make another.
TEST_F(faulty_mariadb, whose_table_was_dropped_says_so) {
    ASSERT_TRUE(stock.acquire().release());
    server.run("DROP TABLE holdfast_lock");
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire(); }), errc::invalid_argument);
    const auto text = message_of([&] { (void)stock.try_acquire(); });
    EXPECT_NE(text.find("the table holdfast_lock does not exist"), std::string::npos) << text;
}

#ifdef HOLDFAST_CLOCK_SHIM
TEST(mariadb_with_its_clock_set_back, keeps_its_locks_and_its_fences) {
    namespace fs = std::filesystem;
    const temp_dir folder;
    const auto shim = folder.path() / "clock.so";
    const auto offset = folder.path() / "offset";
    fs::copy_file(HOLDFAST_CLOCK_SHIM, shim);
    const auto set = [&](std::chrono::microseconds ahead) {
        const auto n = static_cast<long long>(ahead.count());
        std::fstream file{offset, std::ios::in | std::ios::out | std::ios::binary};
        file.write(reinterpret_cast<const char*>(&n), sizeof n);
    };
    std::ofstream{offset} << std::string(sizeof(long long), '\0');
    set(1h);
    mariadb_server server{
        {.environment = {{"LD_PRELOAD", shim.string()}, {"HOLDFAST_CLOCK_AHEAD", offset.string()}}}};
    const auto ahead = std::stoll(server.run("SELECT UNIX_TIMESTAMP()")[0][0]) - std::time(nullptr);
    ASSERT_GT(ahead, 3'000) << "the clock of the server is not ours";

    client c{mariadb_settings(server.url())};
    client d{mariadb_settings(server.url())};
    mutex of_c{c, "ledger", {.fenced = true}};
    mutex of_d{d, "ledger", {.fenced = true}};
    fence last = fence::none;
    for (int i = 0; i < 3; ++i) {  // until it is remembered
        auto held = of_c.acquire();
        last = held.fence();
        ASSERT_TRUE(held.release());
    }
    set(0h);
    auto held = of_c.acquire({.ttl = 60s});
    EXPECT_GT(held.fence(), last);
    last = held.fence();
    // By the new clock, and not for an hour longer.
    const auto shown = admin::inspect(d, "ledger").ttl;
    ASSERT_TRUE(shown);
    EXPECT_LE(*shown, 61s);
    EXPECT_FALSE(of_d.try_acquire());
    EXPECT_TRUE(held.release());
    auto next = of_d.acquire();
    EXPECT_GT(next.fence(), last);
    EXPECT_TRUE(next.release());
}
#endif

// --- TLS --------------------------------------------------------------------------------------------

class mariadb_with_tls : public ::testing::Test {
  protected:
    static mariadb_server server_with(const certificate& its) {
        return mariadb_server{{.settings = {"ssl-cert=" + its.cert, "ssl-key=" + its.key}}};
    }
    static std::string refusal(const std::string& to) {
        return message_of([&] {
            config how = mariadb_settings(to);
            how.patience = 100ms;
            client c{how};
            (void)mutex(c, "stock").try_acquire();
        });
    }

    const temp_dir folder;
    const certificate_authority ours{folder.path(), "ours"};
};

TEST_F(mariadb_with_tls, must_show_a_certificate_for_its_name) {
    const auto server = server_with(ours.issue("db", "IP:127.0.0.1"));
    client c{mariadb_settings(server.url() + "&ssl-ca=" + ours.file())};
    mutex stock{c, "stock"};
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(stock.acquire().release());
    const auto untrusted = refusal(server.url() + "&ssl-mode=VERIFY_IDENTITY");
    EXPECT_NE(untrusted.find("certificate"), std::string::npos) << untrusted;
    EXPECT_EQ(refusal(server.url() + "&ssl-mode=REQUIRED"), "") << "as the URL wants";
}

TEST_F(mariadb_with_tls, is_refused_with_the_certificate_of_another) {
    const auto server = server_with(ours.issue("db", "DNS:other.example.org"));
    EXPECT_NE(refusal(server.url() + "&ssl-ca=" + ours.file()), "");
}

TEST_F(mariadb_with_tls, is_refused_without_it) {
    const mariadb_server plain;
    const auto why = refusal(plain.url() + "&ssl-ca=" + ours.file());
    EXPECT_NE(why.find("SSL"), std::string::npos) << why;
}

}  // namespace
}  // namespace holdfast::test

#endif
