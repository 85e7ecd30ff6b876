// The URL, the errors and the statements of a store in a PostgreSQL database.
#ifdef HOLDFAST_HAS_POSTGRES

#include "backends/postgres/errors.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/postgres/url.hpp"
#include "backends/sql/dialect.hpp"
#include "backends/sql/lanes.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace postgres_backend;
using effect = sql_backend::fault::effect;

std::string value_of(const postgres_backend::url& of, const std::string& name) {
    const auto found = std::find_if(of.parameters.begin(), of.parameters.end(),
                                    [&](const auto& p) { return p.first == name; });
    return found == of.parameters.end() ? std::string{} : found->second;
}

TEST(postgres_url, is_that_of_libpq) {
    const auto to = postgres_backend::parse_url(
        "postgres://app:s%40@db.example.org:5433/locks?sslmode=require&connect_timeout=3");
    EXPECT_EQ(value_of(to, "host"), "db.example.org");
    EXPECT_EQ(value_of(to, "port"), "5433");
    EXPECT_EQ(value_of(to, "user"), "app");
    EXPECT_EQ(value_of(to, "password"), "s@");
    EXPECT_EQ(value_of(to, "dbname"), "locks");
    EXPECT_EQ(value_of(to, "sslmode"), "require");
    EXPECT_EQ(value_of(to, "connect_timeout"), "3");
    EXPECT_EQ(value_of(to, "target_session_attrs"), "read-write");
    EXPECT_EQ(to.where, "db.example.org/locks");
    EXPECT_FALSE(to.create);
    EXPECT_EQ(value_of(postgres_backend::parse_url("postgresql:///locks?host=/run/postgresql"), "host"),
              "/run/postgresql");
    EXPECT_EQ(value_of(postgres_backend::parse_url("postgres://a,b/locks?target_session_attrs=primary"),
                       "target_session_attrs"),
              "primary");
}

TEST(postgres_url, has_options_of_holdfast_at_any_place) {
    for (const char* const text : {"postgres://h/d?create=true", "postgres://h/d?create=true&sslmode=require",
                                   "postgres://h/d?sslmode=require&create=true"})
        EXPECT_TRUE(postgres_backend::parse_url(text).create) << text;
    EXPECT_FALSE(postgres_backend::parse_url("postgres://h/d?create=false").create);
    EXPECT_EQ(value_of(postgres_backend::parse_url("postgres://h/d?create=true&sslmode=require"), "sslmode"),
              "require");
}

TEST(postgres_url, says_whether_restarts_are_trusted) {
    EXPECT_FALSE(postgres_backend::parse_url("postgres://h/d").longest_lease);
    EXPECT_FALSE(postgres_backend::parse_url("postgres://h/d?restarts=trusted").longest_lease);
    EXPECT_EQ(postgres_backend::parse_url("postgres://h/d?restarts=quarantined").longest_lease,
              std::chrono::seconds{60});
    EXPECT_EQ(
        postgres_backend::parse_url("postgres://h/d?longest_lease=2m&restarts=quarantined&sslmode=require")
            .longest_lease,
        std::chrono::minutes{2});
    for (const char* const text :
         {"postgres://h/d?restarts=maybe", "postgres://h/d?longest_lease=2m",
          "postgres://h/d?restarts=quarantined&longest_lease=5", "postgres://h/d?restarts"})
        EXPECT_NE(message_of([&] { (void)postgres_backend::parse_url(text); }), "") << text;
}

TEST(postgres_schema, grants_rights_to_the_user_of_the_url) {
    const auto text = schema_for("postgres://a%22b@h/d");
    EXPECT_NE(text.find("GRANT SELECT, INSERT ON holdfast_run TO \"a\"\"b\";"), std::string::npos) << text;
    EXPECT_NE(schema_for("postgres://h/d").find("TO \"app\";"), std::string::npos);
}

TEST(postgres_url, verifies_servers_on_other_machines) {
    for (const char* const text : {"postgres://db.example.org/d", "postgres://localhost,db.example.org/d"})
        EXPECT_EQ(value_of(postgres_backend::parse_url(text), "sslmode"), "verify-full") << text;
    for (const char* const text : {"postgres:///d", "postgres://localhost/d", "postgres://127.0.0.1/d",
                                   "postgres://[::1]/d", "postgres://%2Frun%2Fpostgresql/d"})
        EXPECT_EQ(value_of(postgres_backend::parse_url(text), "sslmode"), "") << text;
    EXPECT_EQ(value_of(postgres_backend::parse_url("postgres://db.example.org/d?sslmode=disable"), "sslmode"),
              "disable");
    EXPECT_EQ(value_of(postgres_backend::parse_url("postgres:///?service=locks"), "sslmode"), "");
}

TEST(postgres_url, that_cannot_be_meant_is_refused_without_its_password) {
    for (const char* const text : {"postgres://u:secret@h:x%/d", "postgres://u:secret@h/d?wrong=1",
                                   "postgres://u:secret@h/d?create=maybe"}) {
        const auto why = message_of([&] { (void)postgres_backend::parse_url(text); });
        EXPECT_FALSE(why.empty()) << text;
        EXPECT_EQ(why.find("secret"), std::string::npos) << why;
    }
}

TEST(postgres_error, says_what_happened_to_the_lock) {
    EXPECT_EQ(fault_of("40001", "", true).what, effect::conflict);
    EXPECT_EQ(fault_of("40P01", "", true).what, effect::conflict);
    EXPECT_EQ(fault_of("55P03", "", true).what, effect::conflict);
    EXPECT_EQ(fault_of("57P01", "", true).what, effect::unknown);
    EXPECT_EQ(fault_of("57P01", "", false).what, effect::none) << "a statement that only reads";
    EXPECT_EQ(fault_of("", "server closed the connection", true).what, effect::unknown);
    EXPECT_EQ(fault_of("53100", "", true).why.code, errc::out_of_memory);
    EXPECT_EQ(fault_of("25006", "", true).why.code, errc::busy_server);
    EXPECT_EQ(fault_of("42501", "", true).why.code, errc::no_permission);
    EXPECT_EQ(fault_of("42P01", "", true).why.code, errc::invalid_argument);
    EXPECT_EQ(fault_of("28P01", "", true).why.code, errc::no_permission);
    EXPECT_EQ(fault_of("ZZZZZ", "", true).why.code, errc::bad_reply);
    EXPECT_EQ(fault_of("42501", "no\x1b[2J right\n", true).why.server_text, "no\\x1b[2J right");
}

TEST(postgres_dialect, writes_lists_as_the_server_reads_them) {
    const auto& d = dialect();
    EXPECT_EQ(d.list_of_blobs({"a\"\\", ""}), R"({"\\x61225c","\\x"})");
    EXPECT_EQ(d.list_of_numbers({1, -2}), "{1,-2}");
    EXPECT_EQ(d.list_of_numbers({}), "{}");
    EXPECT_EQ(d.list_of_texts({"a", "b"}), R"({"a","b"})");
}

TEST(sql_label, is_read_as_it_was_written) {
    const auto seen = sql_backend::parse_label(to_text(sql_backend::label{"abc-_", 42, "db.example.org"}));
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->client, "abc-_");
    EXPECT_EQ(seen->pid, 42);
    EXPECT_EQ(seen->host, "db.example.org");
    for (const char* const text : {"", "psql", "holdfast:", "holdfast:a", "holdfast:a:x:h", "holdfast:a:1"})
        EXPECT_FALSE(sql_backend::parse_label(text)) << text;
}

TEST(sql_lanes, let_requests_for_one_lock_begin_one_after_the_other) {
    sql_backend::lanes all;
    std::vector<std::string> begun;
    const lock_name stock{"stock"};
    all.enter(stock, [&] { begun.emplace_back("first"); });
    all.enter(stock, [&] { begun.emplace_back("second"); });
    all.enter(lock_name{"other"}, [&] { begun.emplace_back("other"); });
    EXPECT_EQ(begun, (std::vector<std::string>{"first", "other"}));
    all.leave(stock);
    EXPECT_EQ(begun.back(), "second");
    all.leave(stock);
    all.enter(stock, [&] { begun.emplace_back("third"); });
    EXPECT_EQ(begun.back(), "third");
}

}  // namespace
}  // namespace holdfast::test

#endif
