// The completion for bash, zsh and fish: commands, options, and values where an option has a fixed set of
// them. All of it is read from the options themselves.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace holdfast::cli {

enum class shell { bash, zsh, fish };

// A script for bash-completion, zsh's compinit or fish to load, or for that shell by source. Needs nothing
// else.
[[nodiscard]] std::string completion(const CLI::App& program, shell for_shell);

}  // namespace holdfast::cli
