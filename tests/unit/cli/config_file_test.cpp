#include "cli/config_file.hpp"

#include "cli/commands.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

std::string error_for(std::string_view text) {
    try {
        (void)parse_config(text, "hf.conf");
        return "accepted";
    } catch (const usage_error& e) {
        return e.what();
    }
}

TEST(ConfigFile, sets_the_fields_of_config) {
    const auto got = parse_config(
        "# where\n"
        "url = redis://:a=b#c@db:6379/2\n"
        "\n"
        "  lease=10s  \r\n"
        "drift = 0.02\n"
        "local_turns = 4\n"
        "redis.connections = 3\n"
        "program = nightly jobs",
        "hf.conf");
    EXPECT_EQ(got.url, "redis://:a=b#c@db:6379/2");
    EXPECT_EQ(got.lease, 10s);
    EXPECT_EQ(got.drift, 0.02);
    EXPECT_EQ(got.local_turns, 4U);
    EXPECT_EQ(got.redis.connections, 3U);
    EXPECT_EQ(got.program, "nightly jobs");
    EXPECT_EQ(got.poll_gap, config{}.poll_gap);
}

TEST(ConfigFile, sets_policies_by_name) {
    const auto got = parse_config(
        "policy.stock.match = stock:*\n"
        "policy.stock.outage = fail_open_host\n"
        "policy.stock.substitute = file:/run/lock/shop\n"
        "policy.v1.2.tries = 5\n"
        "policy.v1.2.pause = 50ms\n"
        "policy.stock.lost_on_overlap = yes\n",
        "hf.conf");
    ASSERT_EQ(got.policies.size(), 2U);
    const auto& stock = got.policies[0];
    EXPECT_EQ(stock.name, "stock");
    EXPECT_EQ(stock.match, "stock:*");
    EXPECT_EQ(stock.outage, on_outage::fail_open_host);
    EXPECT_EQ(stock.substitute, "file:/run/lock/shop");
    EXPECT_TRUE(stock.lost_on_overlap);
    EXPECT_EQ(stock.tries, policy{}.tries);
    EXPECT_EQ(got.policies[1].name, "v1.2");
    EXPECT_EQ(got.policies[1].tries, 5U);
    EXPECT_EQ(got.policies[1].pause, 50ms);
}

TEST(ConfigFile, says_what_a_setting_of_a_policy_may_be) {
    EXPECT_NE(error_for("policy.a.outage = open").find("fail_open_host"), std::string::npos);
    EXPECT_NE(error_for("policy.a.lost_on_overlap = 1").find("yes or no"), std::string::npos);
    EXPECT_NE(error_for("policy.a.colour = red").find("policy.NAME.outage"), std::string::npos);
    EXPECT_NE(error_for("policy.outage = fail_closed").find("is not a setting"), std::string::npos);
    EXPECT_NE(error_for("policy..outage = fail_closed").find("is not a setting"), std::string::npos);
    EXPECT_NE(error_for("policy.a.tries = 1\npolicy.a.tries = 2").find("set twice"), std::string::npos);
}

TEST(ConfigFile, rejects_local_turns_that_are_not_a_whole_number) {
    EXPECT_NE(error_for("local_turns = 1.5").find("is not a whole number"), std::string::npos);
    EXPECT_NE(error_for("local_turns = -1").find("is not a whole number"), std::string::npos);
}

TEST(ConfigFile, removes_quotes_around_a_value) {
    const auto got = parse_config("url = \"redis://:a'b@db:6379/2\"\nlease = '10s'\n", "hf.conf");
    EXPECT_EQ(got.url, "redis://:a'b@db:6379/2");
    EXPECT_EQ(got.lease, 10s);
    EXPECT_EQ(parse_config("program = \"\"", "hf.conf").program, "");
}

TEST(ConfigFile, names_file_and_line_of_an_unclosed_quote) {
    for (const auto* const value : {"\"redis://db", "\"", "'redis://db\"", "\"redis://db\" # where"}) {
        EXPECT_EQ(error_for(std::string{"\nurl = "} + value),
                  "hf.conf:2: the value of url begins with a quote, so it must end with the same quote and "
                  "contain no other; quotes are optional")
            << value;
    }
}

TEST(ConfigFile, an_empty_file_changes_nothing) { EXPECT_EQ(parse_config("", "hf.conf").url, config{}.url); }

TEST(ConfigFile, names_file_and_line_of_a_mistake) {
    EXPECT_TRUE(error_for("\n# x\nleese = 3s\n")
                    .starts_with("hf.conf:3: \"leese\" is not a setting; use one of url, lease,"));
    EXPECT_EQ(error_for("lease = 3"),
              "hf.conf:1: the value of lease has no unit; a duration is written 250ms, 2s or 1m30s");
    EXPECT_EQ(error_for("lease = long"),
              "hf.conf:1: the value of lease is not a duration such as 250ms, 2s or 1m30s");
    EXPECT_EQ(error_for("drift = 1e999"), "hf.conf:1: the value of drift is not a number");
    EXPECT_EQ(error_for("drift = nan"), "hf.conf:1: the value of drift is not a number");
    EXPECT_EQ(error_for("drift = 0.1x"), "hf.conf:1: the value of drift is not a number");
    EXPECT_EQ(error_for("lease"), "hf.conf:1: a setting is written \"key = value\"");
    EXPECT_EQ(error_for("lease = 1s\nlease = 2s"), "hf.conf:2: lease is set twice");
}

TEST(ConfigFile, error_does_not_show_the_value) {
    EXPECT_EQ(error_for("lease = redis://:secret@db").find("secret"), std::string::npos);
}

TEST(ConfigFile, unreadable_file_is_a_usage_error) {
    EXPECT_THROW((void)read_config("/nonexistent/hf.conf"), usage_error);
    EXPECT_THROW((void)read_config("/"), usage_error);
}

}  // namespace
}  // namespace holdfast::cli
