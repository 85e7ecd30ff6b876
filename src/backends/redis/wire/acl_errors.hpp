// Explains a server's refusal: which right is missing.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::redis_backend {

// For an error about a missing right (ACL): which right, as far as the text or the script shows, and how to
// find the rule that grants it. Empty for any other error.
[[nodiscard]] std::string missing_right_of(std::string_view error_text);

}  // namespace holdfast::redis_backend
