#include "cli/output/wrap.hpp"
#include "cli/commands.hpp"
#include "cli/program.hpp"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <sstream>

namespace holdfast::cli {
namespace {

TEST(wrapped_help, keeps_lines_that_fit) {
    const std::string text = "One line\nand another\n\n  -x   an option\n";
    EXPECT_EQ(wrapped(text, 80), text);
}

TEST(wrapped_help, refills_a_paragraph) {
    EXPECT_EQ(wrapped("a sentence that goes on\nand on:\n  1  x\n", 14),
              "a sentence\nthat goes on\nand on:\n  1  x\n");
}

TEST(wrapped_help, keeps_columns) {
    EXPECT_EQ(wrapped("  -k KIND   one two three four five six seven\n", 40),
              "  -k KIND   one two three four five six\n            seven\n");
    EXPECT_EQ(wrapped("          one two three four five six seven\n", 40),
              "          one two three four five six\n          seven\n");
    EXPECT_EQ(wrapped("  1   wrong    22   right, and a little more than that\n", 44),
              "  1   wrong\n  22  right, and a little more than that\n");
}

TEST(wrapped_help, never_wraps_a_command_to_copy) {
    EXPECT_EQ(
        wrapped("Examples:\n  run one two three four      waits\n  run one two three four five six seven\n",
                30),
        "Examples:\n  run one two three four\n      waits\n  run one two three four five six seven\n");
    EXPECT_EQ(
        wrapped("Examples:\n  run one two three four five six seven  waits for all of the seven\n", 30),
        "Examples:\n  run one two three four five six seven\n      waits for all of the\n      seven\n");
}

TEST(filled_text, has_one_indent_for_its_first_line_and_one_for_the_rest) {
    EXPECT_EQ(filled("one two three four", 1, 3, 9), " one two\n   three\n   four\n");
    EXPECT_EQ(filled("one", 2, 4, 9), "  one\n");
}

TEST(wrapped_help, fits_80_columns_for_every_command) {
    context shared;
    CLI::App program{"Locks between processes and machines"};
    describe(program, shared);
    std::vector<std::string> helps{program.help()};
    for (auto* const command : program.get_subcommands({})) helps.push_back(command->help());
    for (const auto& help : helps) {
        std::istringstream lines{wrapped(help, 80)};
        for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
    }
}

}  // namespace
}  // namespace holdfast::cli
