// Prepares the words of the command line for CLI11, and reads values from them.
#pragma once

#include <holdfast/kind.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// The command line of `holdfast run` is split at the first "--": CLI11 cannot tell the words before it from
// those after it.
struct split_words {
    std::vector<std::string> ours;
    std::vector<std::string> behind_dashes;
};
[[nodiscard]] split_words split_at_dashes(std::vector<std::string> words);

// CLI11 reads "[a,b]", "{}" and "++" as syntax of its own, but a lock may have such a name. shielded()
// appends a NUL, so that CLI11 takes the word as it is; plain() returns the word that the user wrote. No word
// of a command line contains a NUL.
[[nodiscard]] std::string shielded(std::string word);
[[nodiscard]] std::string plain(std::string word);

// An option whose value is a duration.
CLI::Option* add_duration(CLI::App& to, const std::string& flags,
                          std::optional<std::chrono::milliseconds>& value, const std::string& description);

// The kinds that a client can hold, in the order in which help and errors list them.
inline constexpr std::array held_kinds{kind::native,           kind::recursive,    kind::fair,
                                       kind::recursive_fenced, kind::shared_write, kind::semaphore,
                                       kind::permit_semaphore};
// Their names for an option: type_name or option_name of each.
[[nodiscard]] std::vector<std::string> names_of_held_kinds(std::string_view (*name)(kind));

// The library's limit for permits and for the count of a latch.
inline constexpr auto largest_count = std::int64_t{1} << 53;

// Reads a whole decimal number between `least` and `most`; CLI11 would read 010 as 8 and 0x10 as 16. Throws
// CLI::ValidationError with the name of the option.
[[nodiscard]] std::int64_t decimal(const std::string& option_name, const std::string& word,
                                   std::int64_t least, std::int64_t most);

// An option or argument whose value is a number.
template <class Number>
CLI::Option* add_number(CLI::App& to, const std::string& flags, std::optional<Number>& value,
                        std::int64_t least, std::int64_t most, const std::string& description) {
    const auto option_name = flags.substr(flags.find("--") == std::string::npos ? 0 : flags.find("--"));
    const auto read = [=, &value](const std::string& text) {
        value = static_cast<Number>(decimal(option_name, text, least, most));
    };
    return to.add_option_function<std::string>(flags, read, description)->type_name("N");
}

// The same for a number from 1 on that has a value already, which help shows.
template <class Number>
CLI::Option* add_number_with_default(CLI::App& to, const std::string& flag, Number& value, std::int64_t most,
                                     const std::string& description) {
    const auto read = [=, &value](const std::string& text) {
        value = static_cast<Number>(decimal(flag, text, 1, most));
    };
    return to.add_option_function<std::string>(flag, read, description)
        ->default_str(std::to_string(value))
        ->type_name("N");
}

// Why CLI11 refuses the command line: a sentence for people, without a full stop.
[[nodiscard]] std::string sentence_about(const CLI::ParseError& refused, const CLI::App& app);

}  // namespace holdfast::cli
