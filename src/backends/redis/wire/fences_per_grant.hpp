// How many fences one grant takes from the counter, for the threads to which the client hands the lock off
// without a round trip (capabilities::fences_per_grant). A mutex counts in units of this many fences; a
// fenced_mutex adds this many to Redisson's counter. All clients of a lock must use the same number: it is
// part of the wire format.
#pragma once

#include <cstdint>

namespace holdfast::redis_backend {

inline constexpr std::uint32_t fences_per_grant = 16;

}  // namespace holdfast::redis_backend
