#include "redis/config/url.hpp"

#include "io/tls.hpp"
#include "support/certificates.hpp"
#include "support/eventually.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

#include <array>

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

TEST(url, names_host_port_and_database) {
    const auto c = parse_url("redis://db.example:6380/3");
    EXPECT_EQ(c.host, "db.example");
    EXPECT_EQ(c.port, 6380);
    EXPECT_EQ(c.db, 3);
    EXPECT_TRUE(c.user.empty());
    EXPECT_TRUE(c.password.empty());
}

TEST(url, has_defaults) {
    const auto c = parse_url("redis://h");
    EXPECT_EQ(c.port, 6379);
    EXPECT_EQ(c.db, 0);
    EXPECT_EQ(c.connect_timeout, 2s);
    EXPECT_EQ(c.command_timeout, 2s);
    EXPECT_EQ(parse_url("redis://h/").db, 0);
}

TEST(url, carries_credentials) {
    auto c = parse_url("redis://alice:s%40c%3Aret@h");
    EXPECT_EQ(c.user, "alice");
    EXPECT_EQ(c.password, "s@c:ret");
    c = parse_url("redis://:pass:word@h");
    EXPECT_EQ(c.user, "");
    EXPECT_EQ(c.password, "pass:word");
    c = parse_url("redis://:p@ss@h");  // the last @ counts
    EXPECT_EQ(c.password, "p@ss");
    EXPECT_EQ(c.host, "h");
}

TEST(url, accepts_ipv6_in_brackets) {
    const auto c = parse_url("redis://:x@[::1]:7000/1");
    EXPECT_EQ(c.host, "::1");
    EXPECT_EQ(c.port, 7000);
    EXPECT_EQ(address_text(c), "[::1]:7000");
    EXPECT_EQ(parse_url("redis://[fe80::1]").host, "fe80::1");
}

TEST(url, accepts_options) {
    const auto c = parse_url("redis://h/2?connect_timeout=250ms&command_timeout=1m30s&name=worker-1&");
    EXPECT_EQ(c.connect_timeout, 250ms);
    EXPECT_EQ(c.command_timeout, 90s);
    EXPECT_EQ(c.client_name, "worker-1");
    EXPECT_EQ(c.db, 2);
}

TEST(url, names_a_unix_socket) {
    const auto c = parse_url("unix:///run/my%20redis.sock?db=1&user=bob&password=p%26w");
    EXPECT_EQ(c.unix_path, "/run/my redis.sock");
    EXPECT_EQ(c.db, 1);
    EXPECT_EQ(c.user, "bob");
    EXPECT_EQ(c.password, "p&w");
    EXPECT_EQ(address_text(c), "unix:/run/my redis.sock");
}

TEST(url, can_ask_for_tls) {
    EXPECT_EQ(parse_url("redis://h").tls, nullptr);
    EXPECT_EQ(parse_url("unix:///s").tls, nullptr);
    const auto plain = parse_url("rediss://alice:secret@db.example./3?command_timeout=1s");
    ASSERT_NE(plain.tls, nullptr);
    EXPECT_EQ(plain.port, 6379);
    EXPECT_EQ(plain.db, 3);
    EXPECT_EQ(plain.password, "secret");
    EXPECT_EQ(plain.tls->settings().server_name, "db.example");
    EXPECT_EQ(plain.tls->settings().tls_min, io::tls_version::v1_2);
    EXPECT_TRUE(plain.tls->settings().ca.empty());
    EXPECT_EQ(parse_url("rediss://[::1]:1").tls->settings().server_name, "::1");

    const test::temp_dir folder;
    const test::certificate_authority ca{folder.path(), "my ca"};
    const auto own = ca.issue("own", "DNS:own");
    const auto all = parse_url("rediss://h:1?ca=" + folder.path().string() + "/my%20ca.crt&cert=" + own.cert +
                               "&key=" + own.key + "&server_name=db.example&tls_min=1.3");
    EXPECT_EQ(all.tls->settings().ca, ca.file());
    EXPECT_EQ(all.tls->settings().cert, own.cert);
    EXPECT_EQ(all.tls->settings().key, own.key);
    EXPECT_EQ(all.tls->settings().server_name, "db.example");
    EXPECT_EQ(all.tls->settings().tls_min, io::tls_version::v1_3);
}

TEST(url, names_sentinels_and_their_master) {
    const auto c = parse_url(
        "redis+sentinel://alice:s%2Cx@s1,s2:26380,[::1]/the%2Fmaster/3"
        "?sentinel_user=bob&sentinel_password=p%26w&connect_timeout=1s");
    ASSERT_TRUE(c.sentinels);
    const std::vector<host_port> three{{"s1", 26379}, {"s2", 26380}, {"::1", 26379}};
    EXPECT_EQ(c.sentinels->at, three);
    EXPECT_EQ(c.sentinels->master, "the/master");
    EXPECT_EQ(c.sentinels->user, "bob");
    EXPECT_EQ(c.sentinels->password, "p&w");
    EXPECT_EQ(c.user, "alice");
    EXPECT_EQ(c.password, "s,x");
    EXPECT_EQ(c.db, 3);
    EXPECT_EQ(c.connect_timeout, 1s);
    EXPECT_EQ(c.tls, nullptr);
    EXPECT_EQ(address_text(c), "the master \"the/master\"");
    EXPECT_EQ(parse_url("redis+sentinel://s1/m").db, 0);
    EXPECT_FALSE(parse_url("redis://h").sentinels);
}

TEST(url, checks_the_certificate_of_each_host_for_its_own_name) {
    const auto each = parse_url("rediss+sentinel://s1,s2/m");
    ASSERT_NE(each.tls, nullptr);
    EXPECT_TRUE(each.tls_checks_host);
    EXPECT_EQ(config_at(each, {"10.0.0.7", 1}).tls->settings().server_name, "10.0.0.7");
    EXPECT_EQ(config_at(each, {"db.example.", 1}).tls->settings().server_name, "db.example");
    const auto one = parse_url("rediss+sentinel://s1,s2/m?server_name=redis.example");
    EXPECT_EQ(config_at(one, {"10.0.0.7", 1}).tls->settings().server_name, "redis.example");
    EXPECT_FALSE(parse_url("rediss://h").tls_checks_host);
}

TEST(url, passes_options_on_that_its_owner_knows) {
    const std::array<std::string_view, 2> names{"colour", "size"};
    other_options others{names};
    const auto c = parse_url("redis://h?size=1%20m&name=worker-1&colour=red&size=2m", &others);
    EXPECT_EQ(c.client_name, "worker-1");
    ASSERT_EQ(others.found.size(), 3U);
    EXPECT_EQ(others.found[0].name, "size");
    EXPECT_EQ(others.found[0].value, "1 m");
    EXPECT_EQ(others.found[1].name, "colour");
    EXPECT_EQ(others.found[2].value, "2m");
    try {
        (void)parse_url("redis://h?shape=round", &others);
        ADD_FAILURE() << "an unknown option was accepted";
    } catch (const error& e) {
        EXPECT_EQ(std::string_view{e.what()},
                  "Redis URL: the option \"shape\" is unknown; allowed are connect_timeout, command_timeout, "
                  "name, db, colour and size.");
    }
}

TEST(url, error_names_the_mistake) {
    const struct {
        std::string_view url;
        std::string_view says;
    } table[] = {
        {"", "redis://, rediss://, unix://"},
        {"http://h", "redis://, rediss://, unix://"},
        {"redis:h", "redis://, rediss://, unix://"},
        {"redis://", "host is missing"},
        {"redis://:6379", "host is missing"},
        {"redis://h:0", "1 to 65535"},
        {"redis://h:65536", "1 to 65535"},
        {"redis://h:", "1 to 65535"},
        {"redis://h:12x", "1 to 65535"},
        {"redis://::1", "brackets"},
        {"redis://[::1", "no \"]\""},
        {"redis://[::1]x", ":port"},
        {"redis://h/x", "\"x\""},
        {"redis://h/-1", "0 to 999999"},
        {"redis://h?colour=red", "\"colour\" is unknown; allowed are connect_timeout"},
        {"redis://h?user=bob", "\"user\" is unknown"},
        {"redis://h?name", "no \"=\""},
        {"redis://h?name=a%20b", "printable ASCII"},
        {"redis://h?connect_timeout=5", "connect_timeout=\"5\" has no unit; a duration is written 250ms"},
        {"redis://h?command_timeout=0", "above zero"},
        {"redis://h?command_timeout=2d", "longer than a day"},
        {"redis://a%2", "two hex digits"},
        {"redis://a%zz", "two hex digits"},
        {"redis://a%00b", "zero byte"},
        {"redis://bob@h", "without a password"},
        {"unix://run/x", "absolute"},
        {"unix:///x?user=bob", "without a password"},
        {"redis://h?ca=/x", "\"ca\" is for TLS, which only rediss:// has"},
        {"unix:///x?tls_min=1.3", "is rediss:// meant?"},
        {"redis://h?server_name=x", "is rediss:// meant?"},
        {"redis://h?key=x&cert=y", "is rediss:// meant?"},
        {"rediss://", "host is missing"},
        {"rediss://h?colour=red", "server_name and tls_min"},
        {"rediss://h?verify=no", "\"verify\" is unknown"},
        {"rediss://h?tls_min=1.1", "tls_min=\"1.1\" is neither 1.2 nor 1.3"},
        {"rediss://h?server_name=", "\"server_name\" is empty"},
        {"rediss://h?server_name=.", "name"},
        {"rediss://h?ca=", "\"ca\" is empty"},
        {"rediss://h?ca=/does/not/exist", "ca=\"/does/not/exist\" cannot be read"},
        {"rediss://h?cert=/x", "key is missing"},
        {"rediss://h?key=/x", "cert is missing"},
        {"redis+sentinel://s1,s2", "name of the master is missing"},
        {"redis+sentinel://s1,s2/?db=1", "name of the master is missing"},
        {"redis+sentinel:///m", "host is missing"},
        {"redis+sentinel://s1,,s2/m", "host is missing"},
        {"redis+sentinel://s1,s2:x/m", "1 to 65535"},
        {"redis+sentinel://s1,s2,s1:26379/m", "\"s1:26379\" is listed twice"},
        {"redis+sentinel://s1/m/x", "\"x\""},
        {"redis+sentinel://s1/m?sentinel_user=bob", "without a sentinel_password"},
        {"redis+sentinel://s1/m?ca=/x", "is rediss+sentinel:// meant?"},
        {"redis+sentinel://s1/m?colour=red", "sentinel_user and sentinel_password"},
        {"redis://h?sentinel_user=bob", "\"sentinel_user\" is unknown"},
    };
    for (const auto& row : table) {
        try {
            (void)parse_url(row.url);
            ADD_FAILURE() << row.url << " was accepted";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), make_error_code(errc::invalid_argument)) << row.url;
            EXPECT_NE(std::string_view{e.what()}.find(row.says), std::string_view::npos)
                << row.url << " says: " << e.what();
        }
    }
}

TEST(url, error_never_shows_the_password) {
    for (const std::string_view url : {
             "redis://:hunter2@h:99999",
             "redis://:hunter2",
             "redis://u:hunter2",
             "redis://u:hun/ter2@h",
             "redis://u:1/hunter2@h",
             "redis://u:1?hunter2=3@h",
             "redis://:hunter2%@h",
             "redis://:%zzhunter2@h",
             "redis://:hunter2@",
             "redis://:hunter2@[::1",
             "redis://:hunter2@h/x",
             "redis://:hunter2@h?x=y",
             "redis://:hunter2@h?connect_timeout=never",
             "unix:///s?password=hunter2&x=y",
             "unix:///s?password=a&hunter2=y",
             "unix:///s?password=%hunter2",
             "rediss://:hunter2@h?ca=/none",
             "rediss://:hunter2@h?x=y",
             "rediss://u:hun/ter2@h?ca=/none",
             "hunter2://x",
             "redis+sentinel://:hunter2@s1",
             "redis+sentinel://u:hun/ter2@s1/m",
             "redis+sentinel://s1/m?sentinel_password=%hunter2",
             "redis+sentinel://s1/m?sentinel_password=a&hunter2=y",
             "redis+sentinel://s1/m?sentinel_password=hunter2&db=x",
         }) {
        try {
            (void)parse_url(url);
            ADD_FAILURE() << url << " was accepted";
        } catch (const error& e) {
            EXPECT_EQ(std::string_view{e.what()}.find("ter2"), std::string_view::npos)
                << url << " says: " << e.what();
        }
    }
}

}  // namespace
}  // namespace holdfast::redis
