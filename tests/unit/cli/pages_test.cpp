// The manual page and the completion say what --help says.
#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "cli/program.hpp"
#include "lab/ladder.hpp"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

struct pages : testing::Test {
    pages() { describe(program, shared); }

    std::vector<std::string> commands() const {
        std::vector<std::string> names;
        for (const auto* const command : program.get_subcommands({})) names.push_back(command->get_name());
        return names;
    }

    context shared;
    CLI::App program{"Locks between processes and machines"};
};

// The options that a help text lists, under all their names.
std::set<std::string> options_in(const std::string& help) {
    static const std::regex name{R"((^  |,)(--?[a-zA-Z][a-z-]*))"};
    std::set<std::string> names;
    std::istringstream lines{help};
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("  -")) continue;
        const auto listed = line.substr(0, line.find(' ', 2));
        for (auto it = std::sregex_iterator{listed.begin(), listed.end(), name}; it != std::sregex_iterator{};
             ++it) {
            names.insert((*it)[2]);
        }
    }
    return names;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

// The text from a line with this beginning to the next line with `end`.
std::string between(const std::string& text, const std::string& beginning, const std::string& end) {
    const auto from = text.find("\n" + beginning);
    if (from == std::string::npos) return {};
    return text.substr(from + 1, text.find("\n" + end, from + 1) - from - 1);
}

// The text as a reader of the manual sees it.
std::string without_roff(const std::string& text) {
    auto plain = std::regex_replace(text, std::regex{R"(\\f[BIR])"}, "");
    plain = std::regex_replace(plain, std::regex{R"(\\-)"}, "-");
    plain = std::regex_replace(plain, std::regex{R"(\\\(aq)"}, "'");
    return std::regex_replace(plain, std::regex{R"(\\\(ga)"}, "`");
}

TEST_F(pages, manual_has_every_command_and_option_of_the_help) {
    const auto page = manual(program);
    const auto own = without_roff(between(page, ".SH OPTIONS", ".SH"));
    ASSERT_TRUE(options_in(program.help()).contains("--url"));
    for (const auto& option : options_in(program.help())) {
        EXPECT_NE(own.find(option), std::string::npos) << option;
    }
    for (const auto& command : commands()) {
        const auto part = between(without_roff(page), ".SS holdfast " + command + " ", ".S");
        EXPECT_NE(part, "") << command;
        for (const auto& option : options_in(program.get_subcommand(command)->help())) {
            EXPECT_NE(part.find(option), std::string::npos) << command << ' ' << option;
        }
    }
}

// The manual puts the columns of a help text one below the other.
TEST_F(pages, manual_has_all_of_the_help_texts) {
    static const std::regex column{R"(\S+( \S+)*)"};
    const auto page = without_roff(manual(program));
    for (const auto& command : commands()) {
        for (const auto& line : lines_of(program.get_subcommand(command)->get_footer())) {
            if (line == "Examples:") continue;
            for (auto it = std::sregex_iterator{line.begin(), line.end(), column};
                 it != std::sregex_iterator{}; ++it)
                EXPECT_NE(page.find(it->str()), std::string::npos) << it->str();
        }
    }
    EXPECT_EQ(page.find("More of them"), std::string::npos);
}

TEST_F(pages, manual_writes_options_as_other_manuals_do) {
    const auto page = manual(program);
    const auto has = [&](const std::string& lines) {
        EXPECT_NE(page.find("\n.TP\n" + lines), std::string::npos) << lines;
    };
    has("\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n");
    has("\\fINAME\\fR...\nThe locks: all of them are acquired, or none\n");
    has("\\fINAME\\fR\nThe lock\n");
    has("\\fB\\-\\-url\\fR \\fIURL\\fR\n");
    has("\\fB\\-w\\fR, \\fB\\-\\-wait\\fR \\fIDUR\\fR\nWait at most this long (not with "
        "\\fB\\-\\-no\\-wait\\fR)\n");
    has("\\fB\\-\\-kind\\fR \\fIKIND\\fR\n");
    has("\\fB\\-\\-processes\\fR \\fIN\\fR\nService processes (default 4)\n");
    for (const auto* const of_cli11 : {"TEXT", "REQUIRED", "Excludes", "Env:", ":INT", ":{"}) {
        EXPECT_EQ(page.find(of_cli11), std::string::npos) << of_cli11;
    }
}

TEST_F(pages, manual_has_its_sections_in_the_usual_order) {
    std::vector<std::string> sections;
    for (const auto& line : lines_of(manual(program))) {
        if (line.starts_with(".SH ")) sections.push_back(line.substr(4));
    }
    EXPECT_EQ(sections, (std::vector<std::string>{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS",
                                                  "ENVIRONMENT", "EXIT STATUS", "EXAMPLES"}));
}

TEST_F(pages, manual_is_well_formed_roff) {
    static const std::regex request{R"(\.(TH|SH|SS|TP|PP|nf|fi|br|nh|ad)( .*)?)"};
    static const std::regex text{R"(([^\\]|\\(e|-|&|f[BIR]|\((aq|ga|ha|ti)))*)"};
    bool as_it_is = false;
    for (const auto& line : lines_of(manual(program))) {
        EXPECT_FALSE(line.starts_with('\'')) << line;
        EXPECT_TRUE(line.starts_with('.') ? std::regex_match(line, request) : std::regex_match(line, text))
            << line;
        if (line == ".nf" || line == ".fi") {
            EXPECT_NE(as_it_is, line == ".nf") << "twice";
            as_it_is = !as_it_is;
        }
        const auto count = [&](const std::string& what) {
            const std::regex mark{what};
            return std::distance(std::sregex_iterator{line.begin(), line.end(), mark}, {});
        };
        EXPECT_EQ(count(R"(\\f[BI])"), count(R"(\\fR)")) << line;
    }
    EXPECT_FALSE(as_it_is);
}

TEST_F(pages, manual_escapes_what_roff_would_interpret) {
    program.add_subcommand("odd", "'odd' ~ \\fBbold^")->footer(".start\n  .in columns\n'quoted'");
    const auto page = manual(program);
    EXPECT_NE(page.find(R"(\(aqodd\(aq \(ti \efBbold\(ha)"), std::string::npos);
    EXPECT_NE(page.find("\n\\&.start\n.nf\n  .in columns\n.fi\n\\(aqquoted\\(aq\n"), std::string::npos);
}

TEST_F(pages, manual_turns_columns_into_tagged_paragraphs) {
    program.add_subcommand("odd", "Odd")
        ->footer("And\n  1  one      22   two\n  3    four words\nthen\n  as is");
    EXPECT_NE(manual(program).find("\nAnd\n.TP\n\\fB1\\fR\none\n.TP\n\\fB22\\fR\ntwo\n.TP\n\\fB3\\fR\nfour "
                                   "words\n.PP\nthen\n.nf\n  as is\n.fi\n"),
              std::string::npos);
}

TEST_F(pages, completion_has_every_command_and_option_of_the_help) {
    const auto script = completion(program, shell::bash);
    const auto words_of = [&](const std::string& command) {
        const auto line = between(script, "        '" + command + " ') [[", "        ");
        std::istringstream offered{line.substr(line.find("offered='") + 9)};
        std::set<std::string> found;
        for (std::string word; offered >> word;) {
            found.insert(word.substr(0, word.find('\'')));
            if (word.ends_with('\'')) break;
        }
        return found;
    };
    for (const auto& option : options_in(program.help()))
        EXPECT_TRUE(words_of("").contains(option)) << option;
    for (const auto& command : commands()) {
        EXPECT_NE(script.find("' " + command + "') command="), std::string::npos);
        for (const auto& option : options_in(program.get_subcommand(command)->help())) {
            EXPECT_TRUE(words_of(command).contains(option)) << command << ' ' << option;
        }
    }
}

TEST_F(pages, completions_for_zsh_and_fish_come_from_the_same_table) {
    const auto zsh = completion(program, shell::zsh);
    const auto fish = completion(program, shell::fish);
    std::istringstream lines{completion(program, shell::bash)};
    for (std::string line; std::getline(lines, line);) {
        if (line.find(") offered=") != std::string::npos || line.find("&& offered=") != std::string::npos) {
            EXPECT_NE(zsh.find(line), std::string::npos) << line;
        }
    }
    for (const auto& command : commands()) {
        for (const auto& option : options_in(program.get_subcommand(command)->help())) {
            const auto begin = "complete -c holdfast -n '__holdfast_in " + command + "'";
            const auto given =
                option.starts_with("--") ? " -l " + option.substr(2) : " -s " + option.substr(1);
            std::istringstream fish_lines{fish};
            bool found = false;
            for (std::string line; std::getline(fish_lines, line);)
                found = found || (line.starts_with(begin) && line.find(given + ' ') != std::string::npos);
            EXPECT_TRUE(found) << command << ' ' << option;
        }
    }
    for (const auto& rung : lab::ladder()) EXPECT_NE(fish.find(rung.name), std::string::npos) << rung.name;
}

TEST_F(pages, completion_knows_fixed_sets_of_values) {
    const auto script = completion(program, shell::bash);
    EXPECT_NE(script.find("'run --kind') offered='mutex recursive fair fenced shared semaphore permits'"),
              std::string::npos);
    EXPECT_NE(script.find("'run --on-loss') offered='term kill ignore'"), std::string::npos);
    EXPECT_NE(script.find("'demo --kind') offered='mutex recursive'"), std::string::npos);
    EXPECT_NE(script.find("'lab --lang') offered='en zh'"), std::string::npos);
    EXPECT_NE(script.find("'latch 1') offered='set down wait count erase'"), std::string::npos);
    for (const auto& rung : lab::ladder())
        EXPECT_TRUE(std::regex_search(
            script, std::regex{"'lab 0'\\) offered='[^']*\\b" + std::string{rung.name} + "\\b"}))
            << rung.name;
}

TEST_F(pages, options_hidden_in_the_help_stay_hidden) {
    for (const auto& text : {manual(program), completion(program, shell::bash),
                             completion(program, shell::zsh), completion(program, shell::fish)}) {
        EXPECT_EQ(without_roff(text).find("--serve"), std::string::npos);
        EXPECT_EQ(without_roff(text).find("--print-"), std::string::npos);
    }
}

}  // namespace
}  // namespace holdfast::cli
