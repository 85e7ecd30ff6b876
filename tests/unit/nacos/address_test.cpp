#include "nacos/address.hpp"

#include "support/errors.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace holdfast::nacos {
namespace {

using namespace std::chrono_literals;

TEST(nacos_address, has_servers_and_the_names_of_a_configuration) {
    const auto a = parse_address("nacos://h,i:8849,[::1],[fe80::1]:90/dev/shop:eu/a.b_c-d");
    EXPECT_FALSE(a.tls);
    EXPECT_EQ(a.servers, (std::vector<std::string>{"h:8848", "i:8849", "[::1]:8848", "[fe80::1]:90"}));
    EXPECT_EQ(a.name_space, "dev");
    EXPECT_EQ(a.group, "shop:eu");
    EXPECT_EQ(a.id, "a.b_c-d");
    EXPECT_EQ(a.user, "");
    EXPECT_EQ(a.how.path, "/nacos");
    EXPECT_EQ(a.how.long_poll, 30s);
}

TEST(nacos_address, has_options) {
    const auto a = parse_address("nacos+https://h/dev/g/i?long_poll=15s&path=/a/b&ca=/etc/ca.pem");
    EXPECT_TRUE(a.tls);
    EXPECT_EQ(a.how.long_poll, 15s);
    EXPECT_EQ(a.how.path, "/a/b");
    EXPECT_EQ(a.how.ca, "/etc/ca.pem");
    EXPECT_EQ(parse_address("nacos://h/dev/g/i?path=").how.path, "");
}

// Servers of version 2 know it by no other name.
TEST(nacos_address, names_the_public_namespace_by_nothing) {
    EXPECT_EQ(parse_address("nacos://h/public/g/i").name_space, "");
}

TEST(nacos_address, is_shown_without_a_password) {
    const auto a = parse_address("nacos+https://li:p%40ss@h,i/public/g/i?ca=/etc/ca.pem");
    EXPECT_EQ(a.user, "li");
    EXPECT_EQ(a.password, "p@ss");
    EXPECT_EQ(a.shown(), "nacos+https://h:8848,i:8848/public/g/i");
}

TEST(nacos_address, takes_the_password_of_the_environment_if_the_url_has_none) {
    ::setenv("HOLDFAST_NACOS_USER", "app", 1);
    ::setenv("HOLDFAST_NACOS_PASSWORD", "of the environment", 1);
    const auto without = parse_address("nacos://h/public/g/i");
    const auto with = parse_address("nacos://li:pw@h/public/g/i");
    ::unsetenv("HOLDFAST_NACOS_USER");
    ::unsetenv("HOLDFAST_NACOS_PASSWORD");
    EXPECT_EQ(without.user, "app");
    EXPECT_EQ(without.password, "of the environment");
    EXPECT_EQ(with.user, "li");
    EXPECT_EQ(with.password, "pw");
}

TEST(nacos_address, that_is_wrong_is_refused_without_repeating_it) {
    for (const auto* const wrong : {"nacos:secret",
                                    "nacos://secret",
                                    "nacos://secret/a/b",
                                    "nacos:///a/b/secret",
                                    "nacos://h:0/a/b/secret",
                                    "nacos://h:secret/a/b/c",
                                    "nacos://h:99999/a/b/secret",
                                    "nacos://u:sec/ret@h/a/b/c",
                                    "nacos://u:%zz@h/a/b/secret",
                                    "nacos://h/a/b/secret/d",
                                    "nacos://h/a//secret",
                                    "nacos://h/a/b/secret%20",
                                    "nacos://h/a/b/secret c",
                                    "nacos://h,,i/a/b/secret",
                                    "nacos://h,/a/b/secret",
                                    "nacos://h/a/b/c?secret=1",
                                    "nacos://h/a/b/c?long_poll=secret",
                                    "nacos://h/a/b/c?long_poll=9s",
                                    "nacos://h/a/b/c?ca=/secret",
                                    "nacos://h/a/b/c?path=secret"}) {
        std::string said = "nothing";
        try {
            (void)parse_address(wrong);
        } catch (const error& no) {
            EXPECT_EQ(no.code(), errc::invalid_argument) << wrong;
            said = no.what();
        }
        EXPECT_NE(said, "nothing") << wrong;
        EXPECT_EQ(said.find("secret"), std::string::npos) << said;
    }
}

}  // namespace
}  // namespace holdfast::nacos
