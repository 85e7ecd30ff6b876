#include "backends/redis/wire/acl_errors.hpp"

#include "backends/redis/scripts/scripts.hpp"
#include "backends/redis/wire/script_commands.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::redis_backend {

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The server names a script and the line in it, but not the command: "script: <sha1>, on @user_script:5."
std::string commands_at(std::string_view text) {
    constexpr std::string_view script_is = "script: ", line_is = "@user_script:";
    const auto script = text.find(script_is);
    const auto line = text.find(line_is);
    if (script == std::string_view::npos || line == std::string_view::npos) return {};
    const auto sha1 = text.substr(script + script_is.size(), 40);
    const auto digits = text.substr(line + line_is.size());
    int wanted = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), wanted);
    const auto ours = std::find_if(redis_scripts::all.begin(), redis_scripts::all.end(),
                                   [&](const auto& s) { return s.sha1 == sha1; });
    if (ours == redis_scripts::all.end()) return {};
    auto rest = ours->text;
    for (; wanted > 1 && !rest.empty(); --wanted) {
        const auto end = rest.find('\n');
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    std::string list;
    for (const auto& [command, then] : commands_of(rest.substr(0, rest.find('\n'))))
        list.append(list.empty() ? "" : " or ").append(command);
    return list;
}

std::string command_in(std::string_view text) {
    const auto from = text.find('\'');
    const auto to = text.find('\'', from + 1);
    if (to != std::string_view::npos && has(text, "to run the '"))
        return std::string{text.substr(from + 1, to - from - 1)};
    return commands_at(text);
}

}  // namespace

std::string missing_right_of(std::string_view text) {
    const bool of_rights = has(text, "NOPERM") || has(text, "The user executing the script can't") ||
                           has(text, "ACL failure in script");
    if (!of_rights) return {};
    std::string missing;
    if (has(text, "can't run") || has(text, "to run the")) {
        const auto command = command_in(text);
        missing = "the right to run " + (command.empty() ? std::string{"a command"} : command);
    } else if (has(text, "channel")) {
        missing = "the right to a channel";
    } else if (has(text, "key")) {
        missing = "the right to a key";
    } else {
        missing = "a right";
    }
    return "missing is " + missing + "; holdfast doctor NAME prints the ACL rule that grants it";
}

}  // namespace holdfast::redis_backend
