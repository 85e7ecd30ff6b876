#include "cli/manual.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace holdfast::cli {

namespace {

// --- roff ------------------------------------------------------------------------------------

// Escapes a line of text, so that roff takes nothing in it for a request or a special character.
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

std::string italic(std::string_view word) { return fmt::format(R"(\fI{}\fR)", escaped(word)); }

// "  64   wrong      69   no answer" is four columns: two or more spaces separate them.
std::vector<std::string_view> columns(std::string_view line) {
    auto parts = split(line, "  ");
    for (auto& part : parts) part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    std::erase(parts, std::string_view{});
    return parts;
}

enum class look {
    filled,    // sentences
    tagged,    // indented, in pairs of columns: a word and its meaning
    as_it_is,  // indented, not in pairs
};

look look_of(std::string_view line) {
    if (!line.starts_with(' ')) return look::filled;
    return columns(line).size() % 2 == 0 ? look::tagged : look::as_it_is;
}

std::string body(std::string_view paragraph) {
    std::string out;
    auto now = look::filled;
    for (const auto line : split(paragraph, "\n")) {
        const auto next = look_of(line);
        if (next != now) {
            if (now == look::as_it_is) out += ".fi\n";
            if (now == look::tagged) out += ".PP\n";
            if (next == look::as_it_is) out += ".nf\n";
            now = next;
        }
        if (now == look::tagged) {
            const auto parts = columns(line);
            for (std::size_t i = 0; i < parts.size(); i += 2)
                out += fmt::format(".TP\n{}\n{}\n", bold(parts[i]), escaped(parts[i + 1]));
        } else {
            out += escaped(line) + '\n';
        }
    }
    if (now == look::as_it_is) out += ".fi\n";
    return out;
}

// --- help texts ------------------------------------------------------------------------------

// The section of a paragraph of a help text. The first words of the paragraph decide.
enum class section {
    description,
    environment,  // "Environment..."
    exit_status,  // "Exit code..."
    examples,     // "Examples:"
    nowhere,      // "More...": refers to more help, which the manual contains
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

// The usage line of --help, made by the same formatter.
std::string usage(const CLI::App& command) {
    const auto name = full_name(command);
    const auto line =
        dynamic_cast<const CLI::Formatter&>(*command.get_formatter()).make_usage(&command, name);
    const auto rest = std::string_view{line}.substr(line.find(name) + name.size());
    return bold(name) + escaped(rest.substr(0, rest.find_last_not_of('\n') + 1));
}

// "-w, --wait DUR", or the name of a positional argument, with dots if it may be repeated.
std::string heading(const CLI::Option& option) {
    if (option.get_positional())
        return italic(option.get_name()) + (option.get_items_expected_max() > 1 ? "..." : "");
    std::vector<std::string> names;
    for (const auto& name : option.get_snames()) names.push_back(bold("-" + name));
    for (const auto& name : option.get_lnames()) names.push_back(bold("--" + name));
    auto out = fmt::format("{}", fmt::join(names, ", "));
    // CLI11 adds the allowed values, as in "KIND:{mutex,recursive}"; the description says them in words.
    const auto type = option.get_type_name();
    if (option.get_items_expected_max() > 0) out += ' ' + italic(type.substr(0, type.find(':')));
    return out;
}

std::string meaning(const CLI::Option& option) {
    auto out = escaped(option.get_description());
    for (const auto* const other : option.get_excludes())
        out += fmt::format(" (not with {})", bold(other->get_name()));
    if (!option.get_default_str().empty())
        out += fmt::format(" (default {})", escaped(option.get_default_str()));
    return out;
}

std::string options(const CLI::App& command) {
    std::string out;
    for (const bool positional : {true, false}) {
        for (const auto* const option : command.get_options({})) {
            if (option->get_group().empty() || option->get_positional() != positional) continue;
            out += fmt::format(".TP\n{}\n{}\n", heading(*option), meaning(*option));
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

    auto page = fmt::format(".TH HOLDFAST 1 \"\" \"{}\"\n.nh\n.ad l\n", program.version());
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
