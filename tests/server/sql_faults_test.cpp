// Locks in an SQL database when sessions end, or the server lacks something, is slow, stops, or has its clock
// set back.
#include "server/sql_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"
#include "support/sanitizers.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using trouble = sql_server::trouble;

class faulty_sql_server : public on_sql_server {
  protected:
    client c{sql_settings(server.url())};
    mutex stock{c, "stock"};
};
HOLDFAST_ON_EACH_SQL_SERVER(faulty_sql_server);

// --- sessions and the server ------------------------------------------------------------------------

TEST_P(faulty_sql_server, keeps_its_locks_through_a_crash) {
    auto held = stock.acquire({.ttl = 60s});
    client d{sql_settings(server.url())};
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return waiting(c) == 1; }));
    server.stop();
    server.start();
    client fresh{sql_settings(server.url())};
    EXPECT_FALSE(mutex(fresh, "stock").try_acquire());
    EXPECT_TRUE(held.valid());
    ASSERT_TRUE(eventually(patience, [&] { return waiting(fresh) == 1; }));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid());
}

TEST_P(faulty_sql_server, hands_over_after_all_sessions_were_ended) {
    auto held = stock.acquire({.ttl = 60s});
    client d{sql_settings(server.url())};
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return waiting(c) == 1; }));
    server.end_sessions();
    client fresh{sql_settings(server.url())};
    ASSERT_TRUE(eventually(patience, [&] { return waiting(fresh) == 1; }));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid());
}

TEST_P(faulty_sql_server, that_is_stopped_loses_leases_in_time_and_grants_after_it) {
    const auto held = mutex{c, "other", {.ttl = 1s * slower, .renew = true}}.acquire();
    auto how = sql_settings(server.url());
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

TEST_P(faulty_sql_server, that_takes_no_writes_grants_nothing) {
    auto how = sql_settings(server.url());
    how.answer_timeout = 500ms * slower;
    client d{how};
    mutex of_d{d, "stock"};
    ASSERT_TRUE(of_d.acquire().release());
    server.refuse_writes();
    const auto why = refusal(of_d);
    EXPECT_TRUE(why == condition::try_later) << why.message();
    server.accept_writes();
    EXPECT_TRUE(eventually(patience, [&] { return !refusal(of_d); }));
}

// --- statements -------------------------------------------------------------------------------------

TEST_P(faulty_sql_server, with_a_full_disk_grants_nothing_and_goes_on_when_there_is_room) {
    const auto held = mutex{c, "other", {.ttl = 1s * slower, .renew = true}}.acquire();
    ASSERT_TRUE(stock.acquire().release());
    server.begin(trouble::disk_is_full);
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire(); }), errc::out_of_memory);
    const auto text = message_of([&] { (void)stock.try_acquire(); });
    EXPECT_NE(text.find("the server's disk is full"), std::string::npos) << text;
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    auto waiter = in_background([&] { return static_cast<bool>(stock.try_acquire_for(patience)); });
    server.end_trouble();
    EXPECT_TRUE(stock.try_acquire_for(patience) || waiter.get());
}

TEST_P(faulty_sql_server, that_takes_too_long_for_a_statement_cancels_it_and_grants_nothing) {
    config how = sql_settings(server.url());
    how.answer_timeout = 1s * slower;
    how.patience = 1s * slower;
    client hasty{how};
    mutex of_hasty{hasty, "stock"};
    ASSERT_TRUE(of_hasty.acquire().release());
    server.begin(trouble::takes_an_hour);
    const auto why = refusal(of_hasty);
    EXPECT_TRUE(why == condition::try_later || why == condition::unknown) << why.message();
    // A statement that MariaDB cancels may have been committed, so the client asks again, and for the last
    // time in vain.
    if (GetParam() == sql_kind::postgres) {
        const auto text = message_of([&] { (void)of_hasty.try_acquire(); });
        EXPECT_NE(text.find("took too long"), std::string::npos) << text;
    }
    server.end_trouble();
    EXPECT_TRUE(of_hasty.try_acquire_for(patience));
}

TEST_P(faulty_sql_server, whose_row_a_foreign_transaction_has_locked_refuses_it_and_serves_others) {
    ASSERT_TRUE(stock.acquire().release());
    const auto foreign = server.connect();
    foreign->run("BEGIN");
    foreign->run("SELECT 1 FROM holdfast_lock WHERE name = 'stock' FOR UPDATE");
    EXPECT_TRUE(mutex(c, "other").try_acquire());
    const auto text = message_of([&] { (void)stock.try_acquire(); });
    EXPECT_FALSE(text.empty());
    EXPECT_TRUE(mutex(c, "other").try_acquire());
    foreign->run("COMMIT");
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

// A table that an operator deletes is no reason to make another.
TEST_P(faulty_sql_server, whose_table_was_dropped_says_so) {
    ASSERT_TRUE(stock.acquire().release());
    server.run("DROP TABLE holdfast_lock");
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire(); }), errc::invalid_argument);
    const auto text = message_of([&] { (void)stock.try_acquire(); });
    EXPECT_NE(text.find("the table of locks does not exist"), std::string::npos) << text;
}

// --- the clock --------------------------------------------------------------------------------------

#ifdef HOLDFAST_CLOCK_SHIM
class sql_server_with_its_clock_set_back : public ::testing::TestWithParam<sql_kind> {};
HOLDFAST_ON_EACH_SQL_SERVER(sql_server_with_its_clock_set_back);

TEST_P(sql_server_with_its_clock_set_back, keeps_its_locks_and_its_fences) {
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
    // The server may run as another user.
    for (const auto& one : {folder.path(), shim, offset}) fs::permissions(one, fs::perms::all);
    const auto started = start_sql_server(
        GetParam(),
        {.environment = {{"LD_PRELOAD", shim.string()}, {"HOLDFAST_CLOCK_AHEAD", offset.string()}}});
    auto& server = *started;
    ASSERT_GT(server.clock().count() - std::time(nullptr), 3'000) << "the clock of the server is not ours";

    client c{sql_settings(server.url())};
    client d{sql_settings(server.url())};
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

}  // namespace
}  // namespace holdfast::test
