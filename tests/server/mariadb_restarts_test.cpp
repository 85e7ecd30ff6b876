// What becomes of locks in MariaDB when the server was started again, and what restarts=quarantined does
// about it.
#ifdef HOLDFAST_HAS_MARIADB

#include "server/mariadb_scene.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class restarted_mariadb : public ::testing::Test {
  protected:
    [[nodiscard]] std::string with_quarantine(const std::string& longest) const {
        return server.url() + "&restarts=quarantined&longest_lease=" + longest;
    }
    static std::error_code refusal(mutex& lock) {
        std::error_code why;
        const auto held = lock.try_acquire(why);
        return held ? std::error_code{} : why;
    }

    mariadb_server server;
};

TEST_F(restarted_mariadb, grants_after_the_longest_lease) {
    client c{mariadb_settings(with_quarantine("1500ms"), 500ms)};
    mutex stock{c, "stock"};
    EXPECT_TRUE(stock.try_acquire_for(patience)) << "a caller that may wait sits it out";
    server.stop();
    server.start();
    client patient{mariadb_settings(with_quarantine("1h"))};
    mutex other{patient, "other"};
    EXPECT_EQ(refusal(other), errc::quarantined);
    client trusting{mariadb_settings(server.url())};
    EXPECT_TRUE(mutex(trusting, "other").acquire().valid());
}

// Connections that come later meet the same run.
TEST_F(restarted_mariadb, is_another_run_and_not_before) {
    client c{mariadb_settings(with_quarantine("100ms"), 100ms)};
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

TEST_F(restarted_mariadb, is_not_asked_for_a_lease_that_a_quarantine_would_not_outlast) {
    client c{mariadb_settings(with_quarantine("1m"))};
    mutex stock{c, "stock"};
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire({.ttl = 2min}); }), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::test

#endif
