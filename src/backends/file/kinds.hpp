// The kinds of locks that files can have.
#pragma once

#include <holdfast/kind.hpp>

#include <string_view>

namespace holdfast::file_backend {

// Why a store in files has no locks of this kind. Empty: it has them.
[[nodiscard]] std::string_view why_not(kind of) noexcept;

}  // namespace holdfast::file_backend
