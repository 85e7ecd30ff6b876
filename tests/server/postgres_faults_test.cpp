// Locks in PostgreSQL when the server lacks something, is slow, is somebody else, or has its clock set back.
#ifdef HOLDFAST_HAS_POSTGRES

#include "server/postgres_scene.hpp"
#include "support/background.hpp"
#include "support/certificates.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class faulty_postgres : public ::testing::Test {
  protected:
    // What the server does before each change of a row, as PL/pgSQL.
    void before_each_change(const std::string& body) {
        server.run("CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " +
                   body + " RETURN NEW; END $$");
        server.run(
            "CREATE OR REPLACE TRIGGER trouble BEFORE UPDATE ON holdfast_lock FOR EACH ROW EXECUTE"
            " FUNCTION trouble()");
    }
    void end_trouble() { server.run("DROP TRIGGER trouble ON holdfast_lock"); }

    postgres_server server;
    client c{postgres_settings(server.url())};
    mutex stock{c, "stock"};
};

TEST_F(faulty_postgres, with_a_full_disk_grants_nothing_and_goes_on_when_there_is_room) {
    const auto held = mutex{c, "other", {.ttl = 1s, .renew = true}}.acquire();
    ASSERT_TRUE(stock.acquire().release());
    before_each_change(
        "RAISE EXCEPTION 'could not extend file: No space left on device'"
        " USING ERRCODE = 'disk_full';");
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire(); }), errc::out_of_memory);
    const auto text = message_of([&] { (void)stock.try_acquire(); });
    EXPECT_NE(text.find("the server's disk is full"), std::string::npos) << text;
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    auto waiter = in_background([&] { return stock.try_acquire_for(patience); });
    end_trouble();
    EXPECT_TRUE(stock.try_acquire_for(patience) || waiter.get());
}

TEST_F(faulty_postgres, that_takes_too_long_for_a_statement_cancels_it_and_grants_nothing) {
    config how = postgres_settings(server.url());
    how.answer_timeout = 1s;
    how.patience = 1s;
    client hasty{how};
    mutex of_hasty{hasty, "stock"};
    ASSERT_TRUE(of_hasty.acquire().release());
    before_each_change("PERFORM pg_sleep(3600);");
    const auto text = message_of([&] { (void)of_hasty.try_acquire(); });
    EXPECT_NE(text.find("took too long"), std::string::npos) << text;
    end_trouble();
    EXPECT_TRUE(of_hasty.try_acquire_for(patience));
}

// A table that an operator deletes is no reason to make another.
TEST_F(faulty_postgres, whose_table_was_dropped_says_so) {
    ASSERT_TRUE(stock.acquire().release());
    server.run("DROP TABLE holdfast_lock");
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire(); }), errc::invalid_argument);
    const auto text = message_of([&] { (void)stock.try_acquire(); });
    EXPECT_NE(text.find("the table of locks does not exist"), std::string::npos) << text;
}

// A row that the client remembers is not there any more, or is another.
TEST_F(faulty_postgres, whose_row_was_deleted_or_replaced_is_read_again) {
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
    client d{postgres_settings(server.url())};
    mutex of_d{d, "ledger", {.fenced = true}};
    auto held = of_d.acquire();
    EXPECT_GT(held.fence(), last);
    EXPECT_FALSE(ledger.try_acquire());
    ASSERT_TRUE(held.release());
    EXPECT_TRUE(ledger.try_acquire());
}

#ifdef HOLDFAST_CLOCK_SHIM
TEST(postgres_with_its_clock_set_back, keeps_its_locks_and_its_fences) {
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
    fs::permissions(folder.path(), fs::perms::all);
    fs::permissions(shim, fs::perms::all);
    fs::permissions(offset, fs::perms::all);
    postgres_server server{
        {.environment = {{"LD_PRELOAD", shim.string()}, {"HOLDFAST_CLOCK_AHEAD", offset.string()}}}};
    const auto ahead = std::stoll(server.run("SELECT extract(epoch FROM clock_timestamp())::bigint")[0][0]) -
                       std::time(nullptr);
    ASSERT_GT(ahead, 3'000) << "the clock of the server is not ours";

    client c{postgres_settings(server.url())};
    client d{postgres_settings(server.url())};
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
    auto other = mutex{c, "other", {.ttl = 1h, .renew = true}}.acquire();
    EXPECT_TRUE(held.release());
    auto next = of_d.acquire();
    EXPECT_GT(next.fence(), last);
    EXPECT_TRUE(next.release());
    EXPECT_TRUE(other.release());
}
#endif

// --- TLS --------------------------------------------------------------------------------------------

// The name of another machine, and the address of this one.
class postgres_elsewhere : public ::testing::Test {
  protected:
    postgres_server server_with(const certificate& its) const {
        postgres_server::give(its.key);
        std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
        return postgres_server{
            {.settings = {"ssl=on", "ssl_cert_file=" + its.cert, "ssl_key_file=" + its.key}}};
    }
    static std::string url(const postgres_server& of, const std::string& more) {
        return "postgres://holdfast@db.example.org:" + std::to_string(of.port()) +
               "/postgres?hostaddr=127.0.0.1&create=true" + more;
    }
    static std::string refusal(const std::string& to) {
        return message_of([&] {
            config how = postgres_settings(to);
            how.patience = 100ms;
            client c{how};
            (void)mutex(c, "stock").try_acquire();
        });
    }

    const temp_dir folder;
    const certificate_authority ours{folder.path(), "ours"};
};

TEST_F(postgres_elsewhere, must_show_a_certificate_for_its_name) {
    const auto server = server_with(ours.issue("db", "DNS:db.example.org"));
    client c{postgres_settings(url(server, "&sslrootcert=" + ours.file()))};
    EXPECT_TRUE(mutex(c, "stock").acquire().valid());
    const auto untrusted = refusal(url(server, ""));
    EXPECT_NE(untrusted.find("certificate"), std::string::npos) << untrusted;
    const auto unverified = refusal(url(server, "&sslmode=require"));
    EXPECT_EQ(unverified, "") << "as the URL wants";
}

TEST_F(postgres_elsewhere, with_the_certificate_of_another_is_refused) {
    const auto server = server_with(ours.issue("db", "DNS:other.example.org"));
    const auto why = refusal(url(server, "&sslrootcert=" + ours.file()));
    EXPECT_NE(why.find("db.example.org"), std::string::npos) << why;
}

TEST_F(postgres_elsewhere, without_tls_is_refused) {
    const postgres_server server;
    const auto why = refusal(url(server, "&sslrootcert=" + ours.file()));
    EXPECT_NE(why.find("SSL"), std::string::npos) << why;
}

}  // namespace
}  // namespace holdfast::test

#endif
