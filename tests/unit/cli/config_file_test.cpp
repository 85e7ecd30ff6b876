#include "cli/config_file.hpp"

#include "cli/commands.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

std::string refusal_of(std::string_view text) {
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
        "connections = 3\n"
        "program = nightly jobs",
        "hf.conf");
    EXPECT_EQ(got.url, "redis://:a=b#c@db:6379/2");
    EXPECT_EQ(got.lease, 10s);
    EXPECT_EQ(got.drift, 0.02);
    EXPECT_EQ(got.local_turns, 4U);
    EXPECT_EQ(got.connections, 3U);
    EXPECT_EQ(got.program, "nightly jobs");
    EXPECT_EQ(got.poll_gap, config{}.poll_gap);
}

TEST(ConfigFile, refuses_a_part_of_a_turn) {
    EXPECT_NE(refusal_of("local_turns = 1.5").find("is not a whole number"), std::string::npos);
    EXPECT_NE(refusal_of("local_turns = -1").find("is not a whole number"), std::string::npos);
}

TEST(ConfigFile, takes_a_value_in_quotes_for_what_is_between_them) {
    const auto got = parse_config("url = \"redis://:a'b@db:6379/2\"\nlease = '10s'\n", "hf.conf");
    EXPECT_EQ(got.url, "redis://:a'b@db:6379/2");
    EXPECT_EQ(got.lease, 10s);
    EXPECT_EQ(parse_config("program = \"\"", "hf.conf").program, "");
}

TEST(ConfigFile, names_file_and_line_of_a_quote_that_does_not_end) {
    for (const auto* const value : {"\"redis://db", "\"", "'redis://db\"", "\"redis://db\" # where"}) {
        EXPECT_EQ(refusal_of(std::string{"\nurl = "} + value),
                  "hf.conf:2: the value of url begins with a quote, so it must end with the same quote and "
                  "contain no other; quotes are optional")
            << value;
    }
}

TEST(ConfigFile, an_empty_file_changes_nothing) { EXPECT_EQ(parse_config("", "hf.conf").url, config{}.url); }

TEST(ConfigFile, names_file_and_line_of_a_mistake) {
    EXPECT_TRUE(refusal_of("\n# x\nleese = 3s\n")
                    .starts_with("hf.conf:3: \"leese\" is not a setting; use one of url, lease,"));
    EXPECT_EQ(refusal_of("lease = 3"),
              "hf.conf:1: the value of lease has no unit; a duration is written 250ms, 2s or 1m30s");
    EXPECT_EQ(refusal_of("lease = long"),
              "hf.conf:1: the value of lease is not a duration such as 250ms, 2s or 1m30s");
    EXPECT_EQ(refusal_of("drift = 1e999"), "hf.conf:1: the value of drift is not a number");
    EXPECT_EQ(refusal_of("drift = nan"), "hf.conf:1: the value of drift is not a number");
    EXPECT_EQ(refusal_of("drift = 0.1x"), "hf.conf:1: the value of drift is not a number");
    EXPECT_EQ(refusal_of("lease"), "hf.conf:1: a setting is written \"key = value\"");
    EXPECT_EQ(refusal_of("lease = 1s\nlease = 2s"), "hf.conf:2: lease is set twice");
}

TEST(ConfigFile, a_mistake_does_not_show_the_value) {
    EXPECT_EQ(refusal_of("lease = redis://:secret@db").find("secret"), std::string::npos);
}

TEST(ConfigFile, a_file_that_cannot_be_read_is_a_mistake_of_the_user) {
    EXPECT_THROW((void)read_config("/nonexistent/hf.conf"), usage_error);
    EXPECT_THROW((void)read_config("/"), usage_error);
}

}  // namespace
}  // namespace holdfast::cli
