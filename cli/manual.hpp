// The manual page, in roff, out of the same descriptions and texts that --help shows.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace holdfast::cli {

[[nodiscard]] std::string manual(const CLI::App& program);

}  // namespace holdfast::cli
