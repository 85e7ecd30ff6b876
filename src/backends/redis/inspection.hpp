// Telling what is under a key: whose lock, held by whom, who waits. Reads only.
#pragma once

#include "backends/redis/layout.hpp"

#include <holdfast/backend.hpp>

#include <string_view>

namespace holdfast::redis_backend {

void inspect(surroundings&, const lock_name&, time_point deadline,
             handler<backend::result<backend::lock_info>>);
void list(surroundings&, const std::string& glob, time_point deadline,
          handler<backend::result<std::vector<backend::lock_info>>>);

// The name under which a connection of ours is shown by CLIENT LIST: where inspect finds host and pid.
[[nodiscard]] std::string connection_name(std::string_view short_id, std::string_view program);

}  // namespace holdfast::redis_backend
