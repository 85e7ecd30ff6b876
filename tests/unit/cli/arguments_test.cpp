#include "cli/arguments.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::cli {
namespace {

using words = std::vector<std::string>;

// The names that `holdfast NAME...` reads, given these.
words names_read(words given) {
    CLI::App app{"", "holdfast"};
    words names;
    app.add_option("NAME", names);
    std::ranges::transform(given, given.begin(), shielded);
    std::ranges::reverse(given);
    app.parse(std::move(given));
    std::ranges::transform(names, names.begin(), plain);
    return names;
}

TEST(Arguments, run_is_split_at_the_first_dashes) {
    const auto cut = split_at_dashes({"run", "-n", "a", "--", "git", "checkout", "--", "f"});
    EXPECT_EQ(cut.ours, (words{"run", "-n", "a"}));
    EXPECT_EQ(cut.behind_dashes, (words{"git", "checkout", "--", "f"}));
}

TEST(Arguments, options_before_the_command_are_skipped) {
    const auto cut = split_at_dashes({"--url", "redis://h", "--config=f", "run", "a", "--", "x"});
    EXPECT_EQ(cut.behind_dashes, (words{"x"}));
}

TEST(Arguments, only_run_is_split) {
    const auto cut = split_at_dashes({"inspect", "--", "run"});
    EXPECT_EQ(cut.ours, (words{"inspect", "--", "run"}));
    EXPECT_TRUE(cut.behind_dashes.empty());
    EXPECT_EQ(split_at_dashes({"--url", "run"}).ours, (words{"--url", "run"}));
    EXPECT_TRUE(split_at_dashes({}).ours.empty());
}

TEST(Arguments, run_without_dashes_has_no_command) {
    EXPECT_TRUE(split_at_dashes({"run", "a"}).behind_dashes.empty());
}

// How `holdfast COUNT` reads a word: the number, or the error.
std::string number_read(const std::string& word) {
    CLI::App app{"", "holdfast"};
    std::optional<std::int64_t> count;
    add_number(app, "COUNT", count, 1, largest_count, "");
    try {
        app.parse(words{shielded(word)});
    } catch (const CLI::ParseError& refused) {
        return refused.what();
    }
    return std::to_string(count.value());
}

TEST(Arguments, numbers_are_decimal) {
    EXPECT_EQ(number_read("7"), "7");
    EXPECT_EQ(number_read("010"), "10");
    EXPECT_EQ(number_read("9007199254740992"), "9007199254740992");
    for (const std::string word :
         {"0x10", "0b1", "1e3", "1.5", "+1", " 1", "1 ", "1'000", "three", "[1]", "\xff"})
        EXPECT_NE(number_read(word).find(" is not a whole number such as 3"), std::string::npos) << word;
}

TEST(Arguments, error_for_a_number_out_of_range_names_the_bound) {
    EXPECT_EQ(number_read("0"), "COUNT: \"0\" is less than 1");
    EXPECT_EQ(number_read("9007199254740993"), "COUNT: \"9007199254740993\" is more than 9007199254740992");
    EXPECT_EQ(number_read("99999999999999999999"),
              "COUNT: \"99999999999999999999\" is more than 9007199254740992");
    EXPECT_THROW((void)decimal("--n", "-99999999999999999999", 0, 5), CLI::ValidationError);
}

TEST(Arguments, names_that_look_like_syntax_arrive_unchanged) {
    for (const std::string name : {"[a,b]", "[a]", "[]", "{}", "{a}:b", "++", "+", "%%", "a,b", "a=b", "/x",
                                   "a\nb", "\xff\xfe", "stock:42", "'", "\"", "`x`", " ", "-"}) {
        EXPECT_EQ(names_read({name}), words{name}) << name;
        EXPECT_EQ(names_read({"first", name}), (words{"first", name})) << name;
    }
}

}  // namespace
}  // namespace holdfast::cli
