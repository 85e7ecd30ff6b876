// What a server's refusal does not say, for people: which right is missing.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::redis_backend {

// Of words about a missing right (ACL): which one, as far as they or the script tell, and who knows the rule
// that gives it. Empty: they are about something else.
[[nodiscard]] std::string missing_right_of(std::string_view error_text);

}  // namespace holdfast::redis_backend
