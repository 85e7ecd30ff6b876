// The manual page in roff, generated from the texts that --help shows.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace holdfast::cli {

[[nodiscard]] std::string manual(const CLI::App& program);

}  // namespace holdfast::cli
