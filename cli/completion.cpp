#include "cli/completion.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

constexpr std::string_view which_command = R"(# bash completion for holdfast, printed by holdfast itself.
_holdfast() {
    local cur=${COMP_WORDS[COMP_CWORD]} command='' option='' words='' word i
    COMPREPLY=()
    [[ $cur == = ]] && cur='' # bash makes three words of --kind=mutex
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        if [[ -n $option ]]; then # then this is its value
            [[ $word == = ]] || option=''
            continue
        fi
        case "$command $word" in
            'run --')
                _holdfast_other $((i + 1))
                return
                ;;
)";

constexpr std::string_view what_can_follow = R"(        esac
    done
    case "$command $option" in
)";

constexpr std::string_view the_rest = R"(    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

_holdfast_files() {
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
}

# The word number $1 begins the command line of another program.
_holdfast_other() {
    if declare -F _command_offset > /dev/null; then
        _command_offset "$1" # of bash-completion: as that program wants it
    elif ((COMP_CWORD == $1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
    else
        _holdfast_files
    fi
}

complete -F _holdfast holdfast
)";

// What the user can write in one place: of the program before any command, or of one command.
struct place {
    std::string command;  // empty: before it
    std::vector<const CLI::Option*> options;
};

std::vector<const CLI::Option*> shown(const CLI::App& command) {
    return command.get_options(
        [](const CLI::Option* option) { return option->nonpositional() && !option->get_group().empty(); });
}

std::vector<place> places_of(const CLI::App& program) {
    std::vector<place> places{{"", shown(program)}};
    for (const auto* const command : program.get_subcommands({})) {
        place next{command->get_name(), shown(*command)};
        if (command->get_fallthrough()) {  // the program's own may follow too
            std::ranges::copy_if(
                shown(program), std::back_inserter(next.options),
                [](const CLI::Option* option) { return option->get_items_expected_max() > 0; });
        }
        places.push_back(std::move(next));
    }
    return places;
}

std::vector<std::string> names_of(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const auto& name : option.get_snames()) names.push_back("-" + name);
    for (const auto& name : option.get_lnames()) names.push_back("--" + name);
    return names;
}

// --help names a fixed set of values behind the type, as in KIND:{mutex,recursive}. Empty if there is none.
std::string values_of(const CLI::Option& option) {
    const auto type = option.get_type_name();
    const auto open = type.find('{');
    if (open == std::string::npos) return {};
    auto values = type.substr(open + 1, type.find('}') - open - 1);
    std::ranges::replace(values, ',', ' ');
    return values;
}

std::string in_quotes(const std::string& words) { return "'" + words + "'"; }

// The pattern of an option, under each of its names.
std::string pattern(const place& where, const CLI::Option& option) {
    std::string out;
    for (const auto& name : names_of(option)) {
        out += (out.empty() ? "" : " | ") + in_quotes(where.command + " " + name);
    }
    return out;
}

std::string branch(const std::string& pattern, const std::string& action) {
    return "        " + pattern + ") " + action + " ;;\n";
}

}  // namespace

std::string bash_completion(const CLI::App& program) {
    std::string commands;
    std::string states;
    std::string follows;
    std::string option_names;
    for (const auto& where : places_of(program)) {
        std::string all;
        for (const auto* const option : where.options) {
            for (const auto& name : names_of(*option)) all += (all.empty() ? "" : " ") + name;
            if (option->get_items_expected_max() == 0) continue;
            states += "    " + branch(pattern(where, *option), "option=$word");
            if (const auto values = values_of(*option); !values.empty()) {
                follows += branch(pattern(where, *option), "words=" + in_quotes(values));
            } else if (option->get_type_name() == "FILE") {
                follows += branch(pattern(where, *option), "_holdfast_files; return");
            }
        }
        option_names += branch(in_quotes(where.command + " "), "[[ $cur == -* ]] && words=" + in_quotes(all));
        if (where.command.empty()) continue;
        states += "    " + branch(in_quotes(" " + where.command), "command=$word");
        commands += (commands.empty() ? "" : " ") + where.command;
    }
    // A value that only the user knows comes before the names of options and commands.
    follows += branch("*' -'*", "return") + option_names;

    std::string script{which_command};
    script += states;
    script += what_can_follow;
    script += follows;
    script += "    esac\n    [[ -n $command || -n $words ]] || words=" + in_quotes(commands) + '\n';
    script += the_rest;
    return script;
}

}  // namespace holdfast::cli
