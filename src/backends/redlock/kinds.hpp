// Which kinds of lock a redlock supports, and why not the others.
#pragma once

#include "store/requests.hpp"

#include <string_view>
#include <vector>

namespace holdfast::redlock_backend {

// Empty for a kind that is supported.
[[nodiscard]] std::string_view why_unsupported(backend::kind k) noexcept;
[[nodiscard]] std::vector<backend::kind> supported_kinds();

}  // namespace holdfast::redlock_backend
