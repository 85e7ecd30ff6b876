// Telling what is under a key: whose lock, held by whom, who waits. Reads only.
#pragma once

#include "backends/redis/layout.hpp"
#include "store/inspection.hpp"

#include <string_view>

namespace holdfast::redis_backend {

// How much peek.lua reads of a string. A longer string may be data and is evicted by force only; evict
// compares a shorter one as a whole.
inline constexpr std::size_t shown_of_a_string = 512;

// Shows 32 holders, or as many as one answer holds.
void inspect(surroundings&, const lock_name&, backend::holders_shown, time_point deadline,
             handler<backend::result<backend::lock_info>>);
// The lock itself, without those who wait and without what CLIENT LIST says: one round trip.
void look(surroundings&, const lock_name&, time_point deadline, handler<backend::result<backend::lock_info>>);
void list(surroundings&, const std::string& glob, backend::listed which, time_point deadline,
          handler<backend::result<std::vector<backend::lock_info>>>);

// The name under which a connection of ours is shown by CLIENT LIST: where inspect finds host and pid.
[[nodiscard]] std::string connection_name(std::string_view short_id, std::string_view program);

}  // namespace holdfast::redis_backend
