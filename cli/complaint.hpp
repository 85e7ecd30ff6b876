// What the command says on stderr when something fails, and the exit code that goes with it.
#pragma once

#include <holdfast/error.hpp>

#include <string>
#include <system_error>

namespace holdfast::cli {

// The error's sentence, and what the server said to it.
[[nodiscard]] std::string whole_sentence_of(const error& e);

// What this machine has none left of, and how to get more of it. Empty: the error is of another sort.
[[nodiscard]] std::string what_is_lacking(const std::error_code& code);

// All print and return the exit code.
int complain(int code, const std::string& sentence);
int complain(const error& e);
// What the operating system refused: exit_code::system if it had none left.
int complain(const std::system_error& e);

}  // namespace holdfast::cli
