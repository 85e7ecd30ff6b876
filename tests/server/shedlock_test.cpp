// Locks in the table of ShedLock. What ShedLock itself writes is written by statements here; tests/interop
// has the real one.
#include "backends/sql/shedlock.hpp"
#include "server/cli_scene.hpp"
#include "server/sql_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"

#ifdef HOLDFAST_HAS_MARIADB
#include "backends/mariadb/shedlock_statements.hpp"
#endif
#ifdef HOLDFAST_HAS_POSTGRES
#include "backends/postgres/shedlock_statements.hpp"
#endif

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class locks_in_the_table_of_shedlock : public on_sql_server {
  protected:
    // As ShedLock does for a host, for an hour.
    void lock_as_java(const std::string& name) {
        server.run("INSERT INTO shedlock SELECT '" + name + "', " + now + ", " + now +
                   ", 'nobody' FROM (SELECT 1 AS one) AS one WHERE NOT EXISTS"
                   " (SELECT 1 FROM shedlock WHERE name = '" +
                   name + "')");
        server.run("UPDATE shedlock SET lock_until = " + now + " + INTERVAL '1' HOUR, locked_at = " + now +
                   ", locked_by = 'web-3' WHERE name = '" + name + "' AND lock_until <= " + now);
    }
    void unlock_as_java(const std::string& name) {
        server.run("UPDATE shedlock SET lock_until = " + now + " WHERE name = '" + name +
                   "' AND locked_by = 'web-3'");
    }
    [[nodiscard]] std::string holder(const std::string& name) {
        const auto rows =
            server.run("SELECT locked_by FROM shedlock WHERE name = '" + name + "' AND lock_until > " + now);
        return rows.empty() ? "" : rows.front().front();
    }

    const std::string now =
        GetParam() == sql_kind::postgres ? "timezone('utc', CURRENT_TIMESTAMP)" : "UTC_TIMESTAMP(3)";
    std::string url = server.url() + "&layout=shedlock";
    client c{sql_settings(url)};
    mutex report{c, "report"};
};
HOLDFAST_ON_EACH_SQL_SERVER(locks_in_the_table_of_shedlock);

TEST_P(locks_in_the_table_of_shedlock, exclude_each_other_and_leave_a_free_row) {
    client other{sql_settings(url)};
    auto held = report.acquire();
    EXPECT_FALSE(mutex(other, "report").try_acquire());
    auto waiter = in_background([&] { return mutex(other, "report").acquire(); });
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_EQ(server.run("SELECT count(*) FROM shedlock").front().front(), "1");
}

TEST_P(locks_in_the_table_of_shedlock, are_busy_for_java_and_while_java_has_them) {
    auto held = report.acquire();
    const auto ours = holder("report");
    lock_as_java("report");
    EXPECT_EQ(holder("report"), ours);
    unlock_as_java("report");
    EXPECT_EQ(holder("report"), ours);
    EXPECT_EQ(held.release(), release_outcome::released);
    lock_as_java("report");
    EXPECT_EQ(holder("report"), "web-3");
    EXPECT_FALSE(report.try_acquire());
    unlock_as_java("report");
    EXPECT_TRUE(report.try_acquire());
}

TEST_P(locks_in_the_table_of_shedlock, are_renewed_beyond_their_lease) {
    client brisk{sql_settings(url, 1500ms)};
    auto held = mutex(brisk, "report").acquire();
    ASSERT_TRUE(eventually(patience, [&] { return brisk.stats().renewals >= 4; }));
    EXPECT_TRUE(held.valid());
    lock_as_java("report");
    EXPECT_NE(holder("report"), "web-3");
}

TEST_P(locks_in_the_table_of_shedlock, are_lost_when_somebody_else_writes_the_row) {
    client brisk{sql_settings(url, 1500ms)};
    auto held = mutex(brisk, "report").acquire();
    server.run("DELETE FROM shedlock");
    lock_as_java("report");
    EXPECT_TRUE(eventually(patience, [&] { return !held.valid(); }));
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_EQ(holder("report"), "web-3");
}

// The statements that lock and extend.
std::vector<std::string> statements_that_write([[maybe_unused]] sql_kind one) {
    std::vector<std::string> all;
    [[maybe_unused]] const auto take = [&](const sql_backend::shedlock_dialect& words) {
        all = {words.lock.sql, words.extend.sql};
    };
#ifdef HOLDFAST_HAS_POSTGRES
    if (one == sql_kind::postgres) take(postgres_backend::shedlock_dialect());
#endif
#ifdef HOLDFAST_HAS_MARIADB
    if (one == sql_kind::mariadb) take(mariadb_backend::shedlock_dialect());
#endif
    return all;
}

// A request that repeats an attempt, or renews, with a shorter lease.
TEST_P(locks_in_the_table_of_shedlock, are_not_made_shorter_by_their_owner) {
    const auto held = report.acquire({.ttl = 1h, .renew = false});
    for (auto sql : statements_that_write(GetParam())) {
        for (const auto& [mark, value] : {std::pair{std::string{"$1"}, std::string{"'report'"}},
                                          std::pair{std::string{"$2"}, '\'' + held.owner().str() + '\''},
                                          std::pair{std::string{"$3"}, std::string{"1000"}}})
            for (auto at = sql.find(mark); at != std::string::npos; at = sql.find(mark, at + 1))
                sql.replace(at, 2, value);
        server.run("UPDATE shedlock SET locked_at = " + now + " - INTERVAL '1' HOUR");
        server.run(sql);
        EXPECT_EQ(
            server.run("SELECT 1 FROM shedlock WHERE lock_until > " + now + " + INTERVAL '50' MINUTE").size(),
            1U)
            << sql;
    }
}

TEST_P(locks_in_the_table_of_shedlock, are_seen_and_evicted) {
    auto held = report.acquire();
    lock_as_java("cleanup");
    const auto ours = admin::inspect(c, "report");
    EXPECT_TRUE(ours.ours);
    EXPECT_EQ(ours.layout, "mutex");
    ASSERT_EQ(ours.holders.size(), 1U);
    EXPECT_EQ(ours.holders.front().pid, ::getpid());
    EXPECT_FALSE(ours.holders.front().host.empty());
    const auto theirs = admin::inspect(c, "cleanup");
    EXPECT_FALSE(theirs.ours);
    EXPECT_EQ(theirs.layout, "lock of ShedLock");
    ASSERT_EQ(theirs.holders.size(), 1U);
    EXPECT_EQ(theirs.holders.front().owner, "web-3");
    EXPECT_EQ(admin::list(c, "*").size(), 2U);
    EXPECT_EQ(admin::list(c, "rep*").size(), 1U);

    const auto evicted = admin::evict(c, "cleanup");
    ASSERT_EQ(evicted.from.size(), 1U);
    EXPECT_EQ(evicted.from.front().how, admin::evicted_holder::way::unreachable);
    EXPECT_TRUE(mutex(c, "cleanup").try_acquire());
    EXPECT_EQ(admin::inspect(c, "never").layout, "free");
}

TEST_P(locks_in_the_table_of_shedlock, have_names_that_fit_their_column) {
    EXPECT_TRUE(mutex(c, std::string(64, 'n')).try_acquire());
    const auto refuses = [&](const std::string& name, const std::string& says) {
        const auto text = message_of([&] { (void)mutex(c, name).try_acquire(); });
        EXPECT_NE(text.find(says), std::string::npos) << text;
        EXPECT_EQ(code_of([&] { (void)mutex(c, name).try_acquire(); }), errc::invalid_argument);
    };
    refuses(std::string(65, 'n'), "longer than the column");
    refuses(std::string{"a\0b", 3}, "zero byte");
    refuses("\xff", "no text in the encoding");
    EXPECT_TRUE(mutex(c, "Bücher 'und' \"mehr\" \\").try_acquire());
}

TEST_P(locks_in_the_table_of_shedlock, have_no_other_kinds_and_no_quarantine) {
    EXPECT_EQ(code_of([&] { (void)recursive_mutex(c, "report").try_acquire(); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { (void)mutex(c, "report", {.fenced = true}).try_acquire(); }),
              errc::invalid_argument);
    EXPECT_NE(message_of([&] {
                  client none{sql_settings(url + "&restarts=quarantined")};
              }).find("not to that of ShedLock"),
              std::string::npos);
}

TEST_P(locks_in_the_table_of_shedlock, run_a_command) {
    auto run = cli::start_command({"--url", url, "run", "report", "--", "true"});
    EXPECT_EQ(run.wait(patience), 0) << run.errors();
    lock_as_java("report");
    auto busy = cli::start_command({"--url", url, "run", "-w", "0", "report", "--", "true"});
    EXPECT_EQ(busy.wait(patience), 1) << busy.errors();
}

TEST_P(locks_in_the_table_of_shedlock, have_the_schema_that_the_doctor_prints) {
    server.run("CREATE DATABASE bare");
    server.create_user("app");
    const auto made = server.url("bare", "app");
    const auto of_app = made.substr(0, made.find('?')) + "?layout=shedlock";
    auto doctor = cli::start_command({"--url", of_app, "doctor", "--sql"});
    ASSERT_EQ(doctor.wait(patience), 0) << doctor.errors();
    server.run(doctor.output(), "bare");
    client app{sql_settings(of_app)};
    EXPECT_TRUE(mutex(app, "report").acquire().release());
    const auto examined = admin::examine(app, {});
    EXPECT_TRUE(std::any_of(examined.findings.begin(), examined.findings.end(), [](const auto& f) {
        return f.how_bad == severity::ok && f.found.find("table shedlock is there") != std::string::npos;
    }));
}

}  // namespace
}  // namespace holdfast::test
