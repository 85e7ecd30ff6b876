// Reads the text of an INFO reply.
#pragma once

#include <string_view>

namespace holdfast::redis {

// The value of `field` in the text of an INFO reply; empty if it is not there.
[[nodiscard]] std::string_view info_field(std::string_view info, std::string_view field) noexcept;

}  // namespace holdfast::redis
