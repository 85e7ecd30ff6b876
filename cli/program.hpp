// The command line as CLI11 knows it. Help, manual and completion are generated from it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace holdfast::cli {

struct context;

void describe(CLI::App& app, context& shared);

// Runs the command line `words` (without the name of the program) and returns the exit code.
int run_program(std::vector<std::string> words);

}  // namespace holdfast::cli
