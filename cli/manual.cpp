#include "cli/manual.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace holdfast::cli {

namespace {

// --- roff ------------------------------------------------------------------------------------

// A line of text as roff writes it: nothing in it is taken for a request or for another character.
std::string escaped(std::string_view line) {
    std::string out;
    if (line.starts_with('.')) out = R"(\&)";
    for (const char c : line) {
        switch (c) {
            case '\\': out += R"(\e)"; break;
            case '-': out += R"(\-)"; break;
            case '\'': out += R"(\(aq)"; break;
            case '`': out += R"(\(ga)"; break;
            case '^': out += R"(\(ha)"; break;
            case '~': out += R"(\(ti)"; break;
            default: out += c;
        }
    }
    return out;
}

std::string bold(std::string_view word) { return fmt::format(R"(\fB{}\fR)", escaped(word)); }

std::vector<std::string_view> split(std::string_view text, std::string_view at) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const auto end = std::min(text.find(at), text.size());
        if (end > 0) parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + at.size(), text.size()));
    }
    return parts;
}

// Sentences are filled; what is indented stands in columns and stays as it is.
std::string body(std::string_view paragraph) {
    std::string out;
    bool as_it_is = false;
    for (const auto line : split(paragraph, "\n")) {
        if (line.starts_with(' ') != as_it_is) {
            as_it_is = !as_it_is;
            out += as_it_is ? ".nf\n" : ".fi\n";
        }
        out += escaped(line) + '\n';
    }
    if (as_it_is) out += ".fi\n";
    return out;
}

// --- help texts ------------------------------------------------------------------------------

// Where a paragraph of a help text belongs; its beginning tells.
enum class section {
    description,
    environment,  // "Environment..."
    exit_status,  // "Exit code..."
    examples,     // "Examples:"
    nowhere,      // "More...": says where the rest is, and the manual has it all
};

section section_of(std::string_view paragraph) {
    if (paragraph.starts_with("Environment")) return section::environment;
    if (paragraph.starts_with("Exit code")) return section::exit_status;
    if (paragraph.starts_with("Examples:")) return section::examples;
    if (paragraph.starts_with("More")) return section::nowhere;
    return section::description;
}

std::string paragraphs(const CLI::App& command, section wanted) {
    const auto help = command.get_footer();
    std::string out;
    for (auto paragraph : split(help, "\n\n")) {
        if (section_of(paragraph) != wanted) continue;
        if (wanted == section::examples) paragraph.remove_prefix(std::string_view{"Examples:\n"}.size());
        out += ".PP\n" + body(paragraph);
    }
    return out;
}

std::string full_name(const CLI::App& command) {
    return command.get_parent() == nullptr
               ? command.get_name()
               : fmt::format("{} {}", command.get_parent()->get_name(), command.get_name());
}

// The lines that --help would show, by the same formatter.
const CLI::Formatter& formatter_of(const CLI::App& command) {
    return dynamic_cast<const CLI::Formatter&>(*command.get_formatter());
}

std::string usage(const CLI::App& command) {
    const auto name = full_name(command);
    const auto line = formatter_of(command).make_usage(&command, name);
    const auto rest = std::string_view{line}.substr(line.find(name) + name.size());
    return bold(name) + escaped(rest.substr(0, rest.find_last_not_of('\n') + 1));
}

std::string options(const CLI::App& command) {
    const auto& formatter = formatter_of(command);
    std::string out;
    for (const bool positional : {true, false}) {
        for (const auto* const option : command.get_options({})) {
            if (option->get_group().empty() || option->get_positional() != positional) continue;
            out +=
                fmt::format(".TP\n{}{}\n{}\n", bold(formatter.make_option_name(option, positional)),
                            escaped(formatter.make_option_opts(option)), escaped(option->get_description()));
        }
    }
    return out;
}

std::string variables(const CLI::App& program) {
    std::string out;
    for (const auto* const option : program.get_options({})) {
        if (option->get_envname().empty()) continue;
        out += fmt::format(".TP\n{}\n{} (option {})\n", bold(option->get_envname()),
                           escaped(option->get_description()), bold(option->get_name()));
    }
    return out;
}

}  // namespace

std::string manual(const CLI::App& program) {
    const auto commands =
        program.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
    const auto& name = program.get_name();

    auto page = fmt::format(".TH HOLDFAST 1 \"\" \"{}\"\n.nh\n", program.version());
    page += fmt::format(".SH NAME\n{} \\- {}\n", name, escaped(program.get_description()));

    page += ".SH SYNOPSIS\n";
    for (const auto* const command : commands) page += usage(*command) + "\n.br\n";
    page += fmt::format("{} \\-\\-help | \\-\\-version\n", bold(name));

    page += ".SH DESCRIPTION\n" + paragraphs(program, section::description);
    page += ".SH OPTIONS\n" + options(program);

    page += ".SH COMMANDS\n";
    for (const auto* const command : commands) {
        page += fmt::format(".SS {}\n{}\n", usage(*command), escaped(command->get_description()));
        page += options(*command) + paragraphs(*command, section::description);
    }

    page += ".SH ENVIRONMENT\n" + variables(program);
    for (const auto* const command : commands) page += paragraphs(*command, section::environment);

    page += ".SH EXIT STATUS\n";
    for (const auto* const command : commands) {
        const auto codes = paragraphs(*command, section::exit_status);
        if (!codes.empty()) page += fmt::format(".SS {}\n{}", escaped(full_name(*command)), codes);
    }

    page += ".SH EXAMPLES\n" + paragraphs(program, section::examples);
    for (const auto* const command : commands) page += paragraphs(*command, section::examples);
    return page;
}

}  // namespace holdfast::cli
