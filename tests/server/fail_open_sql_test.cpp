// A lock in an SQL database whose policy fails open.
#include "server/sql_scene.hpp"
#include "support/event_recorder.hpp"
#include "support/eventually.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class fail_open_in_sql : public on_sql_server {};
HOLDFAST_ON_EACH_SQL_SERVER(fail_open_in_sql);

TEST_P(fail_open_in_sql, goes_on_without_the_database_and_returns_to_it) {
    auto how = sql_settings(server.url());
    how.policies = {{.name = "open", .match = "*", .outage = on_outage::fail_open_process}};
    client c{how};
    event_recorder events{c};
    mutex stock{c, "stock"};
    {
        const auto held = stock.acquire();
        EXPECT_EQ(held.strength(), strength::single);
        EXPECT_FALSE(mutex(c, "stock").try_acquire());
    }
    // A database that crashes may forget a release, so another lock.
    server.stop();
    const auto alone = mutex(c, "order").acquire();
    EXPECT_EQ(alone.strength(), strength::process_local);
    EXPECT_FALSE(mutex(c, "order").try_acquire());
    server.start();
    EXPECT_TRUE(events.has(event_kind::restored));
    client other{sql_settings(server.url())};
    EXPECT_FALSE(mutex(other, "order").try_acquire());
}

}  // namespace
}  // namespace holdfast::test
