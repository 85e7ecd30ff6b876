// Completion for bash, zsh and fish: commands, options, and the values of options that have a fixed set. It
// is generated from the options themselves.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace holdfast::cli {

enum class shell { bash, zsh, fish };

// A script that bash-completion, zsh's compinit or fish loads, or that the shell sources. It needs nothing
// else.
[[nodiscard]] std::string completion(const CLI::App& program, shell for_shell);

}  // namespace holdfast::cli
