// Registers in SQL databases on a server.
#if defined(HOLDFAST_HAS_POSTGRES) || defined(HOLDFAST_HAS_MARIADB)
#include "server/register_scene.hpp"
#include "server/sql_scene.hpp"
#include "support/wire.hpp"

#ifdef HOLDFAST_HAS_MARIADB
#include "support/mariadb_server.hpp"
#endif
#ifdef HOLDFAST_HAS_POSTGRES
#include "support/postgres_server.hpp"
#endif

#include <memory>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class sql_registers : public on_sql_server {
  protected:
    register_value write(std::uint64_t expected, const std::string& text) {
        return value_in(one.change(expected, text)).value_or(register_value{});
    }
    register_client one{server.url()};
};

TEST_P(sql_registers, give_no_answer_where_no_writes_are_accepted) {
    const auto old = write(0, "R");
    register_client other{server.url(), 2s};
    EXPECT_EQ(value_in(other.read()), old);
    server.refuse_writes();
    EXPECT_TRUE(failure_in(other.read(old)));
    EXPECT_TRUE(failure_in(other.change(old.version, "F")));
    server.accept_writes();
    EXPECT_EQ(other.read_in_time(), old);
}

TEST_P(sql_registers, answer_nothing_old_when_the_server_is_killed) {
    const auto old = write(0, "R");
    const auto now = write(old.version, "F");
    register_client other{server.url(), 2s};
    EXPECT_EQ(value_in(other.read(old)), now);
    server.stop();
    EXPECT_TRUE(failure_in(other.read(now)));
    const auto lost = failure_in(other.change(now.version, "R"));
    EXPECT_TRUE(lost);
    EXPECT_NE(lost, errc::unknown_outcome) << "it was never sent";
    server.start();
    EXPECT_EQ(other.read_in_time(), now);
}

TEST_P(sql_registers, give_no_answer_while_the_server_is_stopped_and_none_of_before_afterwards) {
    const auto old = write(0, "R");
    register_client waiting{server.url(), 2s};
    EXPECT_EQ(value_in(waiting.read()), old);
    server.pause();
    EXPECT_TRUE(failure_in(waiting.read(old)));
    EXPECT_TRUE(failure_in(waiting.change(old.version, "F")));
    server.resume();
    const auto now = waiting.read_in_time();
    EXPECT_TRUE(now == old || now.text == "F") << "it was sent, so it may have been carried out";
}

// A transaction of another program has the row: nothing that was committed is missed, and nothing that was
// not is answered.
TEST_P(sql_registers, wait_for_a_transaction_that_changes_the_row) {
    const auto old = write(0, "R");
    const auto other = server.connect();
    other->run("BEGIN");
    other->run("UPDATE holdfast_lock SET version = version + 1");
    auto reader = one.ask_to_read(old);
    EXPECT_FALSE(eventually(300ms, [&] { return reader.is_answered(); })) << "a plain read would not wait";
    other->run("COMMIT");
    EXPECT_EQ(value_in(reader.get()), (register_value{old.version + 1, "R"}));
}

TEST_P(sql_registers, have_names_that_no_lock_may_have) {
    const auto written = write(0, "R");
    client c{sql_settings(server.url())};
    mutex lock{c, "holdfast:register:mode"};
    std::error_code why;
    EXPECT_FALSE(lock.try_acquire(why));
    EXPECT_EQ(why, errc::invalid_argument);
    EXPECT_EQ(value_in(one.read()), written);
}

TEST_P(sql_registers, are_not_in_the_table_of_shedlock) {
    EXPECT_NE(one.its_register(), nullptr);
    register_client other{server.url() + "&layout=shedlock"};
    EXPECT_EQ(other.its_register(), nullptr);
}

TEST_P(sql_registers, keep_a_change_that_was_answered_just_before_the_server_is_killed) {
    const auto old = write(0, "R");
    const auto now = write(old.version, "F");
    server.stop();
    server.start();
    EXPECT_EQ(one.read_in_time(), now);
}

TEST_P(sql_registers, report_a_change_whose_answer_is_lost_as_unknown) {
    const auto old = write(0, "R");
    wire to_server{server.port()};
    auto url = server.url();
    const auto port = std::to_string(server.port());
    url.replace(url.find(':' + port) + 1, port.size(), std::to_string(to_server.port()));
    register_client through{url};
    EXPECT_EQ(value_in(through.read()), old);
    to_server.cut_after(1);
    EXPECT_EQ(failure_in(through.change(old.version, "F")), errc::unknown_outcome);
    EXPECT_EQ(through.read_in_time().text, "F") << "the server had carried it out";
}

TEST_P(sql_registers, do_not_answer_what_a_lock_of_their_name_holds) {
    client c{sql_settings(server.url())};
    ASSERT_TRUE(mutex(c, "stock").acquire().release());
    server.run("UPDATE holdfast_lock SET name = 'holdfast:register:mode'");
    EXPECT_EQ(failure_in(one.read()), errc::wrong_kind);
    EXPECT_EQ(failure_in(one.change(0, "R")), errc::wrong_kind);
}

HOLDFAST_ON_EACH_SQL_SERVER(sql_registers);

#ifdef HOLDFAST_HAS_MARIADB
// Its sessions stay, and this user may write to it all the same.
TEST(mariadb_registers, give_no_answer_in_sessions_that_were_there_when_the_server_became_read_only) {
    mariadb_server server;
    register_client one{server.url(), 2s};
    const auto old = value_in(one.change(0, "R")).value_or(register_value{});
    server.run("SET GLOBAL read_only = ON");
    EXPECT_EQ(failure_in(one.read(old)), errc::busy_server);
    EXPECT_EQ(failure_in(one.change(old.version, "F")), errc::busy_server);
    server.run("DELETE FROM holdfast_lock");
    EXPECT_EQ(failure_in(one.read()), errc::busy_server);
    EXPECT_EQ(failure_in(one.change(0, "F")), errc::busy_server);
    EXPECT_TRUE(server.run("SELECT 1 FROM holdfast_lock").empty());
}
#endif

#ifdef HOLDFAST_HAS_POSTGRES
// Such as a primary that was cut off from the others, and replaced.
TEST(postgres_registers, give_no_answer_while_the_replicas_that_commits_wait_for_are_away) {
    postgres_server server;
    register_client one{server.url(), 2s};
    const auto old = value_in(one.change(0, "R")).value_or(register_value{});
    EXPECT_EQ(value_in(one.read()), old);
    server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.run("SELECT pg_reload_conf()");
    // The server does that a moment after it was told.
    EXPECT_TRUE(eventually(patience, [&] { return static_cast<bool>(failure_in(one.read(old))); }));
    EXPECT_TRUE(failure_in(one.change(old.version, "F")));
}

TEST(postgres_registers, give_no_answer_on_a_replica) {
    postgres_server server;
    register_client one{server.url(), 2s};
    const auto old = value_in(one.change(0, "R")).value_or(register_value{});
    postgres_server replica{{.replica_of = &server}};
    ASSERT_TRUE(eventually(patience, [&] {
        return replica.run("SELECT to_regclass('holdfast_lock')")[0][0] == "holdfast_lock";
    }));
    register_client at_replica{replica.url(), 2s};
    EXPECT_TRUE(failure_in(at_replica.read(old)));
    EXPECT_TRUE(failure_in(at_replica.change(old.version, "F")));
}
#endif

}  // namespace
}  // namespace holdfast::test

#endif
