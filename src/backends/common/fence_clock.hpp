// Fences that grow even where the store has forgotten the last one.
#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <cstdint>

namespace holdfast::backends {

// The next fence of a lock whose last fence was `last`. At least the microseconds since 2026 in units of
// `per_grant`, so it grows also after the record of the lock was deleted, unless the clock is set back.
[[nodiscard]] inline std::uint64_t next_fence(std::uint64_t last, std::uint32_t per_grant,
                                              std::int64_t microseconds_since_1970) noexcept {
    constexpr std::int64_t start_of_2026 = 1'767'225'600'000'000;
    const auto by_time =
        static_cast<std::uint64_t>(std::max<std::int64_t>(microseconds_since_1970 - start_of_2026, 1)) *
        per_grant;
    return std::max(last + per_grant, by_time);
}

}  // namespace holdfast::backends
