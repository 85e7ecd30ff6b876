// What becomes of locks in an SQL database when the server was started again, and what restarts=quarantined
// does about it.
#include "server/sql_scene.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class restarted_sql_server : public on_sql_server {
  protected:
    [[nodiscard]] std::string with_quarantine(const std::string& longest) const {
        return server.url() + "&restarts=quarantined&longest_lease=" + longest;
    }
};
HOLDFAST_ON_EACH_SQL_SERVER(restarted_sql_server);

TEST_P(restarted_sql_server, grants_after_the_longest_lease) {
    {
        client first{sql_settings(with_quarantine("1h"))};
        mutex stock{first, "stock"};
        EXPECT_EQ(refusal(stock), errc::quarantined) << "nobody has met the server before";
    }
    client c{sql_settings(with_quarantine("1500ms"), 500ms)};
    mutex stock{c, "stock"};
    EXPECT_TRUE(stock.try_acquire_for(patience)) << "a caller that may wait sits it out";
    server.stop();
    server.start();
    client patient{sql_settings(with_quarantine("1h"))};
    mutex other{patient, "other"};
    EXPECT_EQ(refusal(other), errc::quarantined);
    client trusting{sql_settings(server.url())};
    EXPECT_TRUE(mutex(trusting, "other").acquire().valid());
}

// Connections that come later meet the same run.
TEST_P(restarted_sql_server, is_another_run_and_not_before) {
    client c{sql_settings(with_quarantine("100ms"), 100ms)};
    mutex stock{c, "stock"};
    ASSERT_TRUE(stock.try_acquire_for(patience));
    for (int i = 0; i < 5; ++i) {
        server.end_sessions();
        ASSERT_TRUE(eventually(patience, [&] {
            const auto why = refusal(stock);
            EXPECT_NE(why, errc::quarantined);
            return !why;
        }));
    }
}

TEST_P(restarted_sql_server, is_not_asked_for_a_lease_that_a_quarantine_would_not_outlast) {
    client c{sql_settings(with_quarantine("1m"))};
    mutex stock{c, "stock"};
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire({.ttl = 2min}); }), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::test
