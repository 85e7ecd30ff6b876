// What is special in MariaDB about locks in the table of ShedLock: its times and its names.
#ifdef HOLDFAST_HAS_MARIADB

#include "server/sql_scene.hpp"
#include "support/errors.hpp"
#include "support/mariadb_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class shedlock_in_mariadb : public ::testing::Test {
  protected:
    // As ShedLock's documentation makes it.
    void make_table(const std::string& type_of_times = "TIMESTAMP(3)") {
        server.run("CREATE TABLE shedlock (name VARCHAR(64) NOT NULL, lock_until " + type_of_times +
                   " NOT NULL, locked_at " + type_of_times + " NOT NULL DEFAULT CURRENT_TIMESTAMP" +
                   (type_of_times.ends_with("(3)") ? "(3)" : "") +
                   ", locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))");
    }

    mariadb_server server{{.settings = {"default-time-zone=+05:00"}}};
    const std::string url = server.url() + "&layout=shedlock";
};

// A TIMESTAMP of another session's time zone would be read as five hours earlier or later.
TEST_F(shedlock_in_mariadb, is_shared_in_the_time_zone_of_the_server) {
    make_table();
    client c{sql_settings(url)};
    mutex report{c, "report"};
    server.run(
        "INSERT INTO shedlock VALUES ('report', UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, UTC_TIMESTAMP(3),"
        " 'web-3')");
    EXPECT_FALSE(report.try_acquire());
    const auto left = admin::inspect(c, "report").ttl;
    ASSERT_TRUE(left);
    EXPECT_GT(*left, 50min);
    EXPECT_LE(*left, 1h);
    server.run("UPDATE shedlock SET lock_until = UTC_TIMESTAMP(3)");
    const auto held = report.acquire({.ttl = 1h});
    EXPECT_EQ(server
                  .run("SELECT 1 FROM shedlock WHERE lock_until BETWEEN UTC_TIMESTAMP(3) + INTERVAL 50 MINUTE"
                       " AND UTC_TIMESTAMP(3) + INTERVAL 61 MINUTE")
                  .size(),
              1U);
}

TEST_F(shedlock_in_mariadb, is_examined_for_times_that_depend_on_a_time_zone) {
    const auto depend = [&] {
        client c{sql_settings(url)};
        const auto all = admin::examine(c, {}).findings;
        return std::any_of(all.begin(), all.end(),
                           [](const auto& f) { return f.id == std::string{"mariadb-time-zone"}; });
    };
    EXPECT_FALSE(depend()) << "in the table that holdfast makes";
    server.run("DROP TABLE shedlock");
    make_table();
    EXPECT_TRUE(depend());
}

// A lease would end up to a second before its holder knows.
TEST_F(shedlock_in_mariadb, is_refused_if_its_times_have_whole_seconds) {
    make_table("TIMESTAMP");
    client c{sql_settings(url)};
    const auto text = message_of([&] { (void)mutex(c, "report").try_acquire(); });
    EXPECT_NE(text.find("no milliseconds"), std::string::npos) << text;
    EXPECT_EQ(code_of([&] { (void)mutex(c, "report").try_acquire(); }), errc::invalid_argument);
}

// To Java, too, they are one lock.
TEST_F(shedlock_in_mariadb, takes_names_for_one_as_the_collation_of_its_column_does) {
    client c{sql_settings(url)};
    server.run("SELECT 1");
    auto held = mutex(c, "report").acquire();
    EXPECT_FALSE(mutex(c, "Report").try_acquire());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(mutex(c, "Report").try_acquire());
}

TEST_F(shedlock_in_mariadb, refuses_a_name_with_characters_that_its_column_has_not) {
    make_table();
    server.run("ALTER TABLE shedlock MODIFY name VARCHAR(64) CHARACTER SET latin1 NOT NULL");
    client c{sql_settings(url)};
    EXPECT_TRUE(mutex(c,
                      "B\xc3\xbc"
                      "cher")
                    .try_acquire());
    EXPECT_EQ(code_of([&] { (void)mutex(c, "\xe6\x9c\xac").try_acquire(); }), errc::invalid_argument);
}

TEST_F(shedlock_in_mariadb, has_no_rings) {
    EXPECT_NE(
        message_of([&] { client none{sql_settings(url + "&wake=kill")}; }).find("not to that of ShedLock"),
        std::string::npos);
}

}  // namespace
}  // namespace holdfast::test

#endif
