// The whole command line as CLI11 knows it. Help, manual and completion all come from it.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::cli {

struct context;

void describe(CLI::App& app, context& shared);

}  // namespace holdfast::cli
