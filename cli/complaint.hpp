// What the command says on stderr when something fails, and the exit code that goes with it.
#pragma once

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::cli {

// The error's sentence, and what the server said to it.
[[nodiscard]] std::string whole_sentence_of(const error& e);

// Both print and return the exit code.
int complain(int code, const std::string& sentence);
int complain(const error& e);

}  // namespace holdfast::cli
