// The URL, the errors and the statements of a store in a MariaDB database.
#ifdef HOLDFAST_HAS_MARIADB

#include "backends/mariadb/errors.hpp"
#include "backends/mariadb/libmariadb.hpp"
#include "backends/mariadb/schema.hpp"
#include "backends/mariadb/url.hpp"
#include "backends/sql/polling.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
namespace maria = mariadb_backend;
using servers_in_url = std::vector<maria::url::server>;
using effect = sql_backend::fault::effect;

TEST(mariadb_url, names_a_server_a_user_and_a_database) {
    const auto to = maria::parse_url("mysql://app:s%40%3a@db.example.org:3307/locks");
    EXPECT_EQ(to.servers, (servers_in_url{{"db.example.org", 3307}}));
    EXPECT_EQ(to.user, "app");
    EXPECT_EQ(to.password, "s@:");
    EXPECT_EQ(to.database, "locks");
    EXPECT_EQ(to.where, "db.example.org/locks");
    EXPECT_FALSE(to.create);
    EXPECT_FALSE(to.longest_lease);
    const auto several = maria::parse_url("mariadb://[::1]:3307,b/locks");
    EXPECT_EQ(several.servers, (servers_in_url{{"::1", 3307}, {"b", 0}}));
    EXPECT_FALSE(several.password);
    const auto socket = maria::parse_url("mysql:///locks?socket=/run/db%3fx&create=true");
    EXPECT_EQ(socket.socket, "/run/db?x");
    EXPECT_TRUE(socket.create);
    EXPECT_EQ(maria::parse_url("mysql:///?defaults-file=/etc/app.cnf").defaults_file, "/etc/app.cnf");
    EXPECT_EQ(maria::parse_url("mysql://h/d?restarts=quarantined").longest_lease, 60s);
    EXPECT_EQ(maria::parse_url("mysql://h/d?layout=shedlock").table, sql_backend::layout::shedlock);
}

TEST(mariadb_url, verifies_servers_on_other_machines) {
    EXPECT_EQ(maria::parse_url("mysql://db.example.org/d").encryption, maria::tls::verified);
    EXPECT_EQ(maria::parse_url("mysql://localhost,db.example.org/d").encryption, maria::tls::verified);
    for (const char* const text : {"mysql:///d", "mysql://localhost/d", "mysql://127.0.0.1:3306/d",
                                   "mysql://[::1]/d", "mysql://db.example.org/d?ssl-mode=DISABLED"})
        EXPECT_EQ(maria::parse_url(text).encryption, maria::tls::off) << text;
    EXPECT_EQ(maria::parse_url("mysql://localhost/d?ssl-ca=/ca.pem").encryption, maria::tls::verified);
    EXPECT_EQ(maria::parse_url("mysql://db.example.org/d?ssl-mode=required").encryption,
              maria::tls::unverified);
}

TEST(mariadb_url, that_cannot_be_meant_is_refused_without_its_password) {
    for (const char* const text :
         {"mysql:u:secret@h/d", "mysql://u:secret@h:0/d", "mysql://u:secret@h:x/d", "mysql://u:secret%@h/d",
          "mysql://u:secret@h/d?wrong=1", "mysql://u:secret@h/d?create=maybe", "mysql://u:secret@h",
          "mysql://u:secret@h/d?ssl-mode=VERIFY_CA",
          "mysql://u:secret@h/d?socket=", "mysql://u:secret@h/d?layout=shedlock&wake=kill",
          "mysql://u:secret@[::1/d", "mysql://u:secret/x@h/d", "mysql://u:secret%00@h/d"}) {
        const auto why = message_of([&] { (void)maria::parse_url(text); });
        EXPECT_FALSE(why.empty()) << text;
        EXPECT_EQ(why.find("secret"), std::string::npos) << why;
    }
}

TEST(mariadb_error, says_what_happened_to_the_lock) {
    for (const unsigned nothing_done : {1213U, 1205U, 1020U, 1062U})
        EXPECT_EQ(maria::fault_of(nothing_done, "", true).what, effect::conflict) << nothing_done;
    for (const unsigned not_known : {2006U, 2013U, 1317U, 1053U, 1927U, 1969U, 1180U}) {
        EXPECT_EQ(maria::fault_of(not_known, "", true).what, effect::unknown) << not_known;
        EXPECT_EQ(maria::fault_of(not_known, "", false).what, effect::none) << "a statement that only reads";
    }
    EXPECT_EQ(maria::fault_of(1114, "", true).why.code, errc::out_of_memory);
    EXPECT_EQ(maria::fault_of(1290, "", true).why.code, errc::busy_server);
    EXPECT_EQ(maria::fault_of(1040, "", true).why.code, errc::unavailable);
    EXPECT_EQ(maria::fault_of(1142, "", true).why.code, errc::no_permission);
    EXPECT_EQ(maria::fault_of(1045, "", true).why.code, errc::no_permission);
    EXPECT_EQ(maria::fault_of(1146, "", true).why.code, errc::invalid_argument);
    EXPECT_EQ(maria::fault_of(4444, "", true).why.code, errc::bad_reply);
    EXPECT_EQ(maria::fault_of(1142, "no\x1b[2J right\n", true).why.server_text, "no\\x1b[2J right ");
}

TEST(mariadb_dialect, writes_parameters_into_the_statement) {
    const sql_backend::prepared what{"", "a $2 b $1 '$[*]' $1$3 $"};
    using sql_backend::parameter;
    EXPECT_EQ(
        maria::text_of({&what, {parameter::bytes("'\\\xff$2"), parameter::of(-5), parameter::text("")}}),
        "a -5 b x'275cff2432' '$[*]' x'275cff2432' $");
    EXPECT_EQ(maria::text_of({&what, {parameter::characters("'\\"), parameter::of(1), parameter::text("")}}),
              "a 1 b _utf8mb4 x'275c' '$[*]' _utf8mb4 x'275c' $");
    const auto& d = maria::dialect();
    EXPECT_EQ(d.list_of_blobs({"a\"", ""}), "x'6122',x''");
    EXPECT_EQ(d.list_of_numbers({1, -2}), "1,-2");
    EXPECT_EQ(maria::ringing_dialect().list_of_texts({"holdfast_"}),
              "KILL QUERY IS_USED_LOCK('holdfast_-3750763034362895579')");
}

TEST(mariadb_schema, grants_rights_to_the_user_of_the_url) {
    const auto text = maria::schema_for("mysql://a%27b%5c@h/d");
    EXPECT_NE(text.find("ON holdfast_lock TO 'a''b\\\\';"), std::string::npos) << text;
    EXPECT_NE(maria::schema_for("mysql://h/d").find("TO 'app';"), std::string::npos);
    const auto shared = maria::schema_for("mysql://h/d?layout=shedlock");
    EXPECT_NE(shared.find("GRANT SELECT, INSERT, UPDATE ON shedlock TO 'app';"), std::string::npos) << shared;
}

// Programs that the process starts would inherit it.
TEST(mariadb_library, does_not_make_the_process_ignore_broken_pipes) {
    struct sigaction before {};
    struct sigaction after {};
    ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &before), 0);
    (void)maria::my();
    ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &after), 0);
    EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST(mariadb_presence, cannot_be_left_by_the_name_of_a_host) {
    EXPECT_EQ(maria::sleep_of("holdfast:a_-:1:h*/; DROP", 15s),
              "DO /* holdfast:a_-:1:h____DROP */ SLEEP(15)");
}

TEST(sql_polling, asks_sooner_for_the_first_and_later_after_a_long_wait) {
    const engine::store_time now{1'000s};
    engine::lock_record r;
    for (const char* const owner : {"first", "second", "third"})
        r.queue.push_back({kind::native, owner_id{owner}, 0, now, {}});
    EXPECT_EQ(sql_backend::pause_of(r, owner_id{"first"}, now), 2ms);
    EXPECT_EQ(sql_backend::pause_of(r, owner_id{"third"}, now), 6ms);
    EXPECT_EQ(sql_backend::pause_of(r, owner_id{"first"}, now + 160ms), 20ms);
    EXPECT_EQ(sql_backend::pause_of(r, owner_id{"first"}, now + 1h), 40ms);
    EXPECT_EQ(sql_backend::pause_of(r, owner_id{"nobody"}, now), 40ms);
}

}  // namespace
}  // namespace holdfast::test

#endif
