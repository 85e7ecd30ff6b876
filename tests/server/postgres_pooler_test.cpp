// Locks in PostgreSQL behind a pooler that gives each transaction to any of its sessions.
#ifdef HOLDFAST_HAS_POSTGRES

#include "support/postgres_pooler.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/postgres/shedlock_statements.hpp"
#include "server/sql_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class pooled_postgres : public ::testing::Test {
  protected:
    // For sessions that begin later.
    void set(const std::string& name, const std::string& value) {
        server.run("ALTER SYSTEM SET " + name + " = '" + value + "'");
        server.run("SELECT pg_reload_conf()");
        ASSERT_TRUE(eventually(patience, [&] { return server.run("SHOW " + name)[0][0] == value; }));
    }

    postgres_server server;
    postgres_pooler pooler{server};
};

TEST_F(pooled_postgres, serves_waiters_that_poll) {
    client c{sql_settings(pooler.url())};
    client d{sql_settings(pooler.url())};
    event_recorder events{d};
    auto held = mutex{c, "stock"}.acquire();
    mutex of_d{d, "stock"};
    auto waiter = in_background([&] { return of_d.acquire(); });
    EXPECT_TRUE(events.has(event_kind::no_channel_right));
    ASSERT_TRUE(eventually(patience, [&] { return !admin::inspect(c, "stock").queue.empty(); }));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid());
}

// The pooler keeps its clients' connections through a crash of the server, so they do not look for the mark.
TEST_F(pooled_postgres, cannot_be_quarantined) {
    const auto why = message_of([&] {
        client c{sql_settings(pooler.url() + "&restarts=quarantined")};
        (void)mutex(c, "stock").try_acquire();
    });
    EXPECT_NE(why.find("restarts=quarantined"), std::string::npos) << why;
    EXPECT_NE(why.find("pooler"), std::string::npos) << why;
}

// Its sessions have the settings of the server, so each statement turns synchronous_commit on for itself.
TEST_F(pooled_postgres, grants_durably_where_commits_are_not_durable_by_default) {
    for (const char* const layout : {"", "&layout=shedlock"}) {
        client owner{sql_settings(server.url() + layout)};
        ASSERT_TRUE(mutex(owner, "first").acquire().release());
    }
    const auto& ours = postgres_backend::dialect();
    const auto& theirs = postgres_backend::shedlock_dialect();
    using words = std::vector<std::string>;
    const std::vector<std::pair<std::string, words>> all{
        {ours.insert.sql, {"'a'", "''", "1"}},
        {ours.save.sql, {"'a'", "1", "''", "true", "2"}},
        {ours.save_at.sql, {"'a'", "2", "''", "true", "3", "0", "9000000000000000"}},
        {ours.save_many.sql, {"'{a}'", "'{3}'", "'{b}'", "'{4}'"}},
        {theirs.lock.sql, {"'a'", "'me'", "60000"}},
        {theirs.extend.sql, {"'a'", "'me'", "70000"}}};
    for (auto [sql, values] : all) {
        for (std::size_t i = values.size(); i > 0; --i) {
            const auto mark = '$' + std::to_string(i);
            for (auto at = sql.find(mark); at != std::string::npos; at = sql.find(mark, at + 1))
                sql.replace(at, mark.size(), values[i - 1]);
        }
        postgres_server::session one{server, "postgres"};
        one.run("SET synchronous_commit = off");
        one.run("BEGIN");
        EXPECT_EQ(one.run(sql).size(), 1U) << sql;
        EXPECT_EQ(one.run("SHOW synchronous_commit")[0][0], "on") << sql;
        one.run("COMMIT");
    }
}

TEST_F(pooled_postgres, is_examined_for_commits_that_are_not_durable) {
    set("synchronous_commit", "off");
    for (const auto& url : {pooler.url(), server.url()}) {
        client c{sql_settings(url)};
        ASSERT_TRUE(mutex(c, "stock").acquire().release());
        const auto all = admin::examine(c, {}).findings;
        EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const auto& f) {
            return f.id == std::string{"pg-synchronous-commit"} && f.how_bad == severity::note &&
                   f.found.find("off") != std::string::npos;
        })) << url;
    }
}

}  // namespace
}  // namespace holdfast::test

#endif
