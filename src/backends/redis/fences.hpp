// How many fences one grant takes from the counter, for the threads that the lock is passed on to without a
// round trip (capabilities::fences_per_grant). A mutex counts in units of so many, a fenced_mutex adds so
// many to Redisson's counter. Clients that share a lock agree on it: it is part of the wire format.
#pragma once

#include <cstdint>

namespace holdfast::redis_backend {

inline constexpr std::uint32_t fences_per_grant = 16;

}  // namespace holdfast::redis_backend
