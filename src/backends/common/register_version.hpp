// The versions of a register that its clients number.
#pragma once

#include "base/clock.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <cstdint>

namespace holdfast::backends {

// The version of a change that replaces `expected`. Follows the wall clock, with random last bits, so that a
// register that was deleted, restored or lost by a failover does not give a version to another text: a client
// that still knows the old text then writes over something that it has not read.
[[nodiscard]] inline std::uint64_t next_register_version(std::uint64_t expected) noexcept {
    constexpr std::int64_t start_of_2026 = 1'767'225'600'000'000;
    constexpr std::uint64_t random_values = 1'024;
    const auto by_time =
        static_cast<std::uint64_t>(std::max<std::int64_t>(base::wall_microseconds() - start_of_2026, 0));
    const auto random = static_cast<std::uint64_t>(base::jitter() * static_cast<double>(random_values));
    return std::max(expected + 1, by_time * random_values + random);
}

}  // namespace holdfast::backends
