#include "redis/cluster/cluster_config.hpp"

#include "io/tls.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

#include <array>

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

std::string error_message(std::string_view url) {
    try {
        (void)parse_cluster_url(url);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::invalid_argument);
        EXPECT_EQ(std::string{e.what()}.find("secret"), std::string::npos) << e.what();
        return e.what();
    }
    return "(no error)";
}

TEST(cluster_url, names_servers_and_the_settings_of_all) {
    const auto c =
        parse_cluster_url("redis+cluster://ann:s%40x@h1:7001,h2,[::1]:7003?command_timeout=1s&sharded=off");
    EXPECT_EQ(c.seeds, (std::vector<endpoint>{{"h1", 7001}, {"h2", 6379}, {"::1", 7003}}));
    EXPECT_EQ(c.each.user, "ann");
    EXPECT_EQ(c.each.password, "s@x");
    EXPECT_EQ(c.each.command_timeout, 1s);
    EXPECT_EQ(c.sharded, sharded_channels::off);
    EXPECT_FALSE(c.each.tls);
    const auto third = node_config_of(c, c.seeds[2]);
    EXPECT_EQ(address_text(third), "[::1]:7003");
    EXPECT_EQ(third.password, "s@x");
}

TEST(cluster_url, has_defaults) {
    for (const auto* url : {"redis+cluster://h", "redis+cluster://h/", "redis+cluster://h/0",
                            "redis+cluster://h?db=0", "redis+cluster://h,h?sharded=auto"}) {
        const auto c = parse_cluster_url(url);
        EXPECT_EQ(c.seeds, (std::vector<endpoint>{{"h", 6379}})) << url;
        EXPECT_EQ(c.sharded, sharded_channels::automatic);
    }
}

TEST(cluster_url, checks_the_certificate_of_each_server_for_its_own_name) {
    auto c = parse_cluster_url("rediss+cluster://h1,h2");
    ASSERT_TRUE(c.each.tls);
    EXPECT_EQ(node_config_of(c, {"h2", 1}).tls->settings().server_name, "h2");
    EXPECT_EQ(node_config_of(c, {"10.0.0.1", 1}).tls->settings().server_name, "10.0.0.1");
    c = parse_cluster_url("rediss+cluster://h1,h2?server_name=redis.example");
    EXPECT_EQ(node_config_of(c, {"h2", 1}).tls->settings().server_name, "redis.example");
}

TEST(cluster_url, passes_options_on_once) {
    const std::array<std::string_view, 1> names{"colour"};
    other_options others{names};
    EXPECT_EQ(parse_cluster_url("redis+cluster://h1,h2?colour=red", &others).seeds.size(), 2U);
    ASSERT_EQ(others.found.size(), 1U);
    EXPECT_EQ(others.found[0].value, "red");
}

TEST(cluster_url, is_rejected_with_the_reason) {
    EXPECT_NE(error_message("redis+cluster://h/3").find("no database but 0"), std::string::npos);
    EXPECT_NE(error_message("redis+cluster://h?db=3").find("no database but 0"), std::string::npos);
    EXPECT_NE(error_message("redis+cluster://h?sharded=yes").find("auto, on and off"), std::string::npos);
    EXPECT_NE(error_message("redis+cluster://").find("empty place"), std::string::npos);
    EXPECT_NE(error_message("redis+cluster://h,,i").find("empty place"), std::string::npos);
    EXPECT_NE(error_message("redis+cluster://h:0").find("port"), std::string::npos);
    EXPECT_NE(error_message("redis+cluster://h?color=red").find("unknown"), std::string::npos);
    EXPECT_NE(error_message("redis://h").find("redis+cluster://"), std::string::npos);
    // Passwords that were not escaped are never shown.
    EXPECT_NE(error_message("redis+cluster://:sec/secret@h"), "(no error)");
    EXPECT_NE(error_message("redis+cluster://:sec?secret@h"), "(no error)");
    EXPECT_NE(error_message("redis+cluster://:secret@h,"), "(no error)");
}

}  // namespace
}  // namespace holdfast::redis
