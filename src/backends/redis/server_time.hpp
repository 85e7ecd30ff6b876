// What time it is on the servers of a database.
#pragma once

#include "redis/database.hpp"
#include "store/server_clock.hpp"

#include <vector>

namespace holdfast::redis_backend {

// Asks each server that keeps keys.
void read_clocks(redis::database& on, backend::time_point deadline,
                 backend::handler<backend::result<std::vector<backend::clock_reading>>> done);

}  // namespace holdfast::redis_backend
