#include "cli/completion.hpp"

#include "cli/commands.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

constexpr std::string_view bash_begins = R"(# bash completion for holdfast, printed by holdfast itself.
_holdfast() {
    local cur=${COMP_WORDS[COMP_CWORD]} command='' option='' offered='' word i place=0
    COMPREPLY=()
    [[ $cur == = ]] && cur='' # bash splits --kind=mutex into three words
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        if [[ -n $option ]]; then # this word is its value
            [[ $word == = ]] || option=''
            continue
        fi
        case "$command $word" in
            'run --')
                _holdfast_other $((i + 1))
                return
                ;;
)";

constexpr std::string_view words_end = R"(            *) [[ $word == -* ]] || place=$((place + 1)) ;;
        esac
    done
)";

constexpr std::string_view bash_ends = R"(    mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$cur")
}

_holdfast_files() {
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
}

# Word number $1 begins the command line of another program.
_holdfast_other() {
    if declare -F _command_offset > /dev/null; then
        _command_offset "$1" # from bash-completion: runs the completion of that program
    elif ((COMP_CWORD == $1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
    else
        _holdfast_files
    fi
}

complete -F _holdfast holdfast
)";

constexpr std::string_view zsh_begins = R"(#compdef holdfast
# zsh completion for holdfast, printed by holdfast itself.
_holdfast() {
    local command='' option='' offered='' word i place=0 cur=${words[CURRENT]}
    for ((i = 2; i < CURRENT; ++i)); do
        word=${words[i]}
        if [[ -n $option ]]; then # this word is its value
            option=''
            continue
        fi
        case "$command $word" in
            'run --')
                words=("${(@)words[i + 1, -1]}")
                ((CURRENT -= i))
                _normal # runs the completion of that program
                return
                ;;
)";

constexpr std::string_view zsh_splits =
    R"(    if [[ -z $option && $cur == --*=* ]]; then # one word, as in --kind=mutex
        option=${cur%%=*}
        compset -P '*='
        cur=${cur#*=}
    fi
)";

constexpr std::string_view zsh_ends = R"(    compadd -- ${=offered}
}

_holdfast_files() { _files; }

if [[ ${funcstack[1]} == _holdfast ]]; then
    _holdfast "$@"
else
    compdef _holdfast holdfast
fi
)";

constexpr std::string_view fish_begins = R"fish(# fish completion for holdfast, printed by holdfast itself.

# The command at the cursor, "." before a command, and the number of its word there; "--" after the "--" of run.
function __holdfast_place
    set -l command .
    set -l option ''
    set -l place 0
    set -l all (commandline -opc)
    set -e all[1]
    for word in $all
        if test -n "$option"
            set option '' # this word is its value
            continue
        end
        switch "$command $word"
            case 'run --'
                set place --
                break
)fish";

constexpr std::string_view fish_goes_on = R"fish(            case '* -*'
            case '*'
                set place (math $place + 1)
        end
    end
    echo "$command $place"
end

function __holdfast_at
    test "$argv" = "$(__holdfast_place)"
end

function __holdfast_in
    string match -q -- "$argv[1] *" (__holdfast_place); and not __holdfast_at run --
end

# The words after "--" are the command line of another program.
function __holdfast_other
    set -l all (commandline -opc)
    set -e all[1..(contains -i -- -- $all)]
    set -l now (commandline -ct)
    complete -C "$(string escape -- $all | string join ' ') $now"
end

complete -c holdfast -f
complete -c holdfast -n '__holdfast_at run --' -a '(__holdfast_other)'
)fish";

// What the user can write at one place: before any command, or after one command.
struct place {
    std::string command;  // empty: before any command
    std::string about;
    std::vector<const CLI::Option*> options;
    std::vector<std::string> values;  // of each positional argument; empty: only the user knows them
};

std::vector<const CLI::Option*> shown(const CLI::App& command) {
    return command.get_options(
        [](const CLI::Option* option) { return option->nonpositional() && !option->get_group().empty(); });
}

// The fixed set of values that --help shows after the type, as in KIND:{mutex,recursive}. Empty if there is
// none.
std::string values_of(const CLI::Option& option) {
    const auto type = option.get_type_name();
    const auto open = type.find('{');
    if (open == std::string::npos) return {};
    auto values = type.substr(open + 1, type.find('}') - open - 1);
    std::ranges::replace(values, ',', ' ');
    return values;
}

std::vector<std::string> values_by_position(const CLI::App& command) {
    std::vector<std::string> values;
    for (const auto* const option : command.get_options(
             [](const CLI::Option* o) { return o->get_positional() && !o->get_group().empty(); }))
        values.push_back(option->get_name() == "RUNG" ? rung_names() : values_of(*option));
    return values;
}

std::vector<place> places_of(const CLI::App& program) {
    std::vector<place> places{{"", "", shown(program), {}}};
    for (const auto* const command : program.get_subcommands({})) {
        place next{command->get_name(), command->get_description(), shown(*command),
                   values_by_position(*command)};
        if (command->get_fallthrough()) {  // the program's own options may follow, too
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

std::string in_quotes(const std::string& words) { return "'" + words + "'"; }

// A shell pattern that matches each name of an option.
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

// This part of the script is the same for bash and zsh.
std::string shell_function(const CLI::App& program, std::string_view begins, std::string_view splits,
                           std::string_view ends) {
    std::string commands;
    std::string states;
    std::string follows;
    std::string option_names;
    std::string by_position;
    for (const auto& where : places_of(program)) {
        std::string all;
        for (const auto* const option : where.options) {
            for (const auto& name : names_of(*option)) all += (all.empty() ? "" : " ") + name;
            if (option->get_items_expected_max() == 0) continue;
            states += "    " + branch(pattern(where, *option), "option=$word");
            if (const auto values = values_of(*option); !values.empty()) {
                follows += branch(pattern(where, *option), "offered=" + in_quotes(values));
            } else if (option->get_type_name() == "FILE") {
                follows += branch(pattern(where, *option), "_holdfast_files; return");
            }
        }
        option_names +=
            branch(in_quotes(where.command + " "), "[[ $cur == -* ]] && offered=" + in_quotes(all));
        for (std::size_t i = 0; i < where.values.size(); ++i) {
            if (where.values[i].empty()) continue;
            by_position += branch(in_quotes(where.command + " " + std::to_string(i)),
                                  "offered=" + in_quotes(where.values[i]));
        }
        if (where.command.empty()) continue;
        states += "    " + branch(in_quotes(" " + where.command), "command=$word");
        commands += (commands.empty() ? "" : " ") + where.command;
    }
    // Where only the user knows the value, offer neither options nor commands.
    follows += branch("*' -'*", "return") + option_names;

    std::string script{begins};
    script += states;
    script += words_end;
    script += splits;
    script += "    case \"$command $option\" in\n" + follows;
    script += "    esac\n    [[ -n $offered || $cur == -* ]] || case \"$command $place\" in\n" + by_position;
    script += "    esac\n    [[ -n $command || -n $offered ]] || offered=" + in_quotes(commands) + '\n';
    script += ends;
    return script;
}

// Quotes a text for fish. Within single quotes only ' and \ are special.
std::string fish_text(std::string_view text) {
    std::string out{"'"};
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + '\'';
}

std::string fish_name(const place& where) { return where.command.empty() ? "." : where.command; }

std::string fish_completion(const CLI::App& program) {
    std::string states;
    std::string offers;
    for (const auto& where : places_of(program)) {
        const auto name = fish_name(where);
        const auto here = "complete -c holdfast -n '__holdfast_in " + name + "'";
        for (const auto* const option : where.options) {
            offers += here;
            for (const auto& letter : option->get_snames()) offers += " -s " + letter;
            for (const auto& word : option->get_lnames()) offers += " -l " + word;
            if (option->get_items_expected_max() > 0) {
                states += "            case";
                for (const auto& word : names_of(*option)) states += ' ' + fish_text(name + ' ' + word);
                states += "\n                set option $word\n";
                const auto values = values_of(*option);
                if (!values.empty()) {
                    offers += " -x -a " + fish_text(values);
                } else {
                    offers += option->get_type_name() == "FILE" ? " -r -F" : " -x";
                }
            }
            offers += " -d " + fish_text(option->get_description()) + '\n';
        }
        for (std::size_t i = 0; i < where.values.size(); ++i) {
            if (where.values[i].empty()) continue;
            offers += "complete -c holdfast -n '__holdfast_at " + name + ' ' + std::to_string(i) + "' -a " +
                      fish_text(where.values[i]) + '\n';
        }
        if (where.command.empty()) continue;
        states += "            case '. " + name + "'\n                set command $word\n";
        offers +=
            "complete -c holdfast -n '__holdfast_in .' -a " + name + " -d " + fish_text(where.about) + '\n';
    }
    return std::string{fish_begins} + states + std::string{fish_goes_on} + offers;
}

}  // namespace

std::string completion(const CLI::App& program, shell for_shell) {
    switch (for_shell) {
        case shell::bash: return shell_function(program, bash_begins, "", bash_ends);
        case shell::zsh: return shell_function(program, zsh_begins, zsh_splits, zsh_ends);
        case shell::fish: return fish_completion(program);
    }
    return {};
}

}  // namespace holdfast::cli
