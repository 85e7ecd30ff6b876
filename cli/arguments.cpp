#include "cli/arguments.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

// Longer than any use needs, and short enough to be counted in nanoseconds.
constexpr milliseconds longest = std::chrono::hours{24} * 365 * 100;

constexpr std::string_view first_bytes_of_syntax = "[{+";

// Finds the command's name. Only the program's own options can come before it.
std::vector<std::string>::iterator command_in(std::vector<std::string>& words) {
    auto it = words.begin();
    while (it != words.end() && it->starts_with('-')) {
        const bool value_follows = *it == "--url" || *it == "--config";
        ++it;
        if (value_follows && it != words.end()) ++it;
    }
    return it;
}

}  // namespace

split_words split_at_dashes(std::vector<std::string> words) {
    const auto command = command_in(words);
    if (command == words.end() || *command != "run") return {std::move(words), {}};
    const auto dashes = std::find(command, words.end(), "--");
    split_words cut;
    if (dashes != words.end()) {
        cut.behind_dashes.assign(std::make_move_iterator(dashes + 1), std::make_move_iterator(words.end()));
    }
    words.erase(dashes, words.end());
    cut.ours = std::move(words);
    return cut;
}

std::string shielded(std::string word) {
    if (!word.empty() && first_bytes_of_syntax.find(word.front()) != std::string_view::npos)
        word.push_back('\0');
    return word;
}

std::string plain(std::string word) {
    if (!word.empty() && word.back() == '\0') word.pop_back();
    return word;
}

CLI::Option* add_duration(CLI::App& to, const std::string& flags, std::optional<milliseconds>& value,
                          const std::string& description) {
    const auto option_name = flags.substr(flags.rfind("--"));
    const auto read = [&value, option_name](const std::string& text) {
        const auto parsed = base::parse_duration(text);
        if (!parsed) {
            throw CLI::ValidationError(option_name, fmt::format("\"{}\" {}", base::printable(plain(text)),
                                                                base::why_no_duration(plain(text))));
        }
        value = std::min(*parsed, longest);
    };
    return to.add_option_function<std::string>(flags, read, description)->type_name("DUR");
}

std::vector<std::string> names_of_held_kinds(std::string_view (*name)(kind)) {
    std::vector<std::string> all;
    for (const auto k : held_kinds) all.emplace_back(name(k));
    return all;
}

std::int64_t decimal(const std::string& option_name, const std::string& word, std::int64_t least,
                     std::int64_t most) {
    const auto text = plain(word);
    const auto no = [&](const std::string& why) {
        return CLI::ValidationError(option_name, fmt::format("\"{}\" is {}", base::printable(text), why));
    };
    const bool negative = text.starts_with('-');
    const auto digits = text.substr(negative ? 1 : 0);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
        throw no("not a whole number such as 3");
    std::int64_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool fits = ec == std::errc{};
    if (fits ? value < least : negative) throw no(fmt::format("less than {}", least));
    if (!fits || value > most) throw no(fmt::format("more than {}", most));
    return value;
}

std::string sentence_about(const CLI::ParseError& refused, const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    const auto unexpected = app.remaining(true);
    std::string what;
    if (!unexpected.empty()) {
        const auto word = base::printable(plain(unexpected.front()));
        if (word.size() > 1 && word.starts_with('-')) {
            what = fmt::format("there is no option \"{}\"", word);
        } else if (chosen.empty()) {
            what = fmt::format("there is no command \"{}\"", word);
        } else {
            what = fmt::format("the argument \"{}\" is one too many", word);
        }
    } else if (chosen.empty() && dynamic_cast<const CLI::RequiredError*>(&refused) != nullptr) {
        what = "a command is missing";
    } else {
        what = refused.what();
    }
    return fmt::format("{}; see {}{} --help", what, app.get_name(),
                       chosen.empty() ? "" : " " + chosen.front()->get_name());
}

}  // namespace holdfast::cli
