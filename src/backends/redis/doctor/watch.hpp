// The answers of all sentinels of a master. A value, like a survey.
#pragma once

#include "backends/redis/doctor/checks.hpp"
#include "backends/redis/doctor/visits.hpp"

#include <string>
#include <vector>

namespace holdfast::redis_backend::doctor {

struct watch {
    std::string master;  // the master's name
    std::string in_use;  // the address of the master that the client uses; empty: none
    std::vector<visited> sentinels;
};

[[nodiscard]] std::vector<finding> judge(const watch&);

}  // namespace holdfast::redis_backend::doctor
