// The wall clock, for things that are shown to people or made unique. Leases never look at it.
#pragma once

#include <cstdint>

namespace holdfast::base {

// Microseconds since 1970. May jump.
[[nodiscard]] std::int64_t wall_microseconds() noexcept;

}  // namespace holdfast::base
