// Error messages on stderr, and the exit codes that go with them.
#pragma once

#include <holdfast/error.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast::cli {

// The error's message, followed by the server's own text.
[[nodiscard]] std::string full_message(const error& e);

// Which resource this machine has run out of, and how to get more. Empty if the error has another cause.
[[nodiscard]] std::string_view missing_resource(const std::error_code& code) noexcept;

// exit_code::system if the machine has run out of a resource; for a holdfast::error the code that
// report_error() returns; else exit_code::internal. Like missing_resource() it does not allocate: memory may
// be what is lacking.
[[nodiscard]] int exit_code_for(const std::exception& why) noexcept;

// What the advice in a message is about.
enum class store_choice {
    server,
    files,       // of this machine
    by_default,  // nobody chose a store: it is the default of --url
};
[[nodiscard]] store_choice store_of(std::string_view url) noexcept;

// All of these print the message and return the exit code.
int report_error(int code, const std::string& sentence);
int report_error(const error& e, store_choice store = store_choice::server);
// For a refusal by the operating system: exit_code::system if a resource has run out.
int report_error(const std::system_error& e);

}  // namespace holdfast::cli
