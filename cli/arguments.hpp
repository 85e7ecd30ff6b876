// Words of the command line, between the shell and CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

// The command line of `holdfast run` is cut at the first "--"; CLI11 cannot tell the words before it from
// those behind it.
struct split_words {
    std::vector<std::string> ours;
    std::vector<std::string> behind_dashes;
};
[[nodiscard]] split_words split_at_dashes(std::vector<std::string> words);

// CLI11 reads "[a,b]", "{}" and "++" as syntax of its own, and the name of a lock may be any of them.
// shielded() words pass; plain() gives the word that the user wrote. No word of a command line contains a
// NUL.
[[nodiscard]] std::string shielded(std::string word);
[[nodiscard]] std::string plain(std::string word);

// An option whose value is a duration.
CLI::Option* add_duration(CLI::App& to, const std::string& flags,
                          std::optional<std::chrono::milliseconds>& value, const std::string& description);

// A sentence for people, without a full stop, about a command line that CLI11 does not accept.
[[nodiscard]] std::string sentence_about(const CLI::ParseError& refused, const CLI::App& app);

}  // namespace holdfast::cli
