// The answers of all sentinels of a master. A value, like a snapshot.
#pragma once

#include "backends/redis/doctor/checks.hpp"
#include "backends/redis/doctor/temporary_connections.hpp"

#include <string>
#include <vector>

namespace holdfast::redis_backend::doctor {

struct sentinel_group {
    std::string master;  // the master's name
    std::string in_use;  // the address of the master that the client uses; empty: none
    std::vector<server_result> sentinels;
};

[[nodiscard]] std::vector<finding> judge(const sentinel_group&);

}  // namespace holdfast::redis_backend::doctor
