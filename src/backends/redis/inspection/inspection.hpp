// Shows what a key holds: the kind of lock, its holders and its waiters. Only reads.
#pragma once

#include "backends/redis/wire/store_context.hpp"
#include "store/inspection.hpp"

#include <string_view>

namespace holdfast::redis_backend {

// How much of a string peek.lua reads. A longer string may be data and is evicted by force only; evict
// compares a shorter one as a whole.
inline constexpr std::size_t shown_of_a_string = 512;

// Shows up to 32 holders, or as many as fit into one answer.
void inspect(store_context&, const lock_name&, backend::holders_shown, time_point deadline,
             handler<backend::result<backend::lock_info>>);
// The lock itself, without waiters and without the data of CLIENT LIST: one round trip.
void look(store_context&, const lock_name&, time_point deadline,
          handler<backend::result<backend::lock_info>>);
void list(store_context&, const std::string& glob, backend::listed which, time_point deadline,
          handler<backend::result<std::vector<backend::lock_info>>>);

// The name of our connections in CLIENT LIST, in which inspect finds host and pid.
[[nodiscard]] std::string connection_name(std::string_view short_id, std::string_view program);

}  // namespace holdfast::redis_backend
