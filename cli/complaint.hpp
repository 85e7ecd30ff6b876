// What the command says on stderr when something fails, and the exit code that goes with it.
#pragma once

#include <holdfast/error.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast::cli {

// The error's sentence, and what the server said to it.
[[nodiscard]] std::string whole_sentence_of(const error& e);

// What this machine has none left of, and how to get more of it. Empty: the error is of another sort.
[[nodiscard]] std::string_view what_is_lacking(const std::error_code& code) noexcept;

// exit_code::system if the machine has too little of something, else exit_code::internal. Like the call above
// it allocates nothing: that may be what is lacking.
[[nodiscard]] int code_after(const std::exception& why) noexcept;

// All print and return the exit code.
int complain(int code, const std::string& sentence);
int complain(const error& e);
// What the operating system refused: exit_code::system if it had none left.
int complain(const std::system_error& e);

}  // namespace holdfast::cli
