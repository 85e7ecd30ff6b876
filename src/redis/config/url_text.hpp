// For readers of URLs: how an error is reported, and the values that several options have.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace holdfast::redis {

// Throws holdfast::error (errc::invalid_argument).
[[noreturn]] void reject_url(const std::string& sentence);
// For an error text.
[[nodiscard]] std::string quoted(std::string_view text);
// A duration above zero and of at most a day.
[[nodiscard]] std::chrono::milliseconds duration_of(std::string_view option, std::string_view text);

}  // namespace holdfast::redis
