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

TEST(Arguments, run_is_cut_at_the_first_dashes) {
    const auto cut = split_at_dashes({"run", "-n", "a", "--", "git", "checkout", "--", "f"});
    EXPECT_EQ(cut.ours, (words{"run", "-n", "a"}));
    EXPECT_EQ(cut.behind_dashes, (words{"git", "checkout", "--", "f"}));
}

TEST(Arguments, options_before_the_command_are_stepped_over) {
    const auto cut = split_at_dashes({"--url", "redis://h", "--config=f", "run", "a", "--", "x"});
    EXPECT_EQ(cut.behind_dashes, (words{"x"}));
}

TEST(Arguments, only_run_is_cut) {
    const auto cut = split_at_dashes({"inspect", "--", "run"});
    EXPECT_EQ(cut.ours, (words{"inspect", "--", "run"}));
    EXPECT_TRUE(cut.behind_dashes.empty());
    EXPECT_EQ(split_at_dashes({"--url", "run"}).ours, (words{"--url", "run"}));
    EXPECT_TRUE(split_at_dashes({}).ours.empty());
}

TEST(Arguments, run_without_dashes_has_no_command) {
    EXPECT_TRUE(split_at_dashes({"run", "a"}).behind_dashes.empty());
}

TEST(Arguments, names_that_look_like_syntax_arrive_as_they_are) {
    for (const std::string name : {"[a,b]", "[a]", "[]", "{}", "{a}:b", "++", "+", "%%", "a,b", "a=b", "/x",
                                   "a\nb", "\xff\xfe", "stock:42", "'", "\"", "`x`", " ", "-"}) {
        EXPECT_EQ(names_read({name}), words{name}) << name;
        EXPECT_EQ(names_read({"first", name}), (words{"first", name})) << name;
    }
}

}  // namespace
}  // namespace holdfast::cli
