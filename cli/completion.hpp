// The completion for bash: commands, options, and values where an option has a fixed set of them.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace holdfast::cli {

// A script that bash-completion loads, or any bash by source. Needs nothing of either but bash.
[[nodiscard]] std::string bash_completion(const CLI::App& program);

}  // namespace holdfast::cli
