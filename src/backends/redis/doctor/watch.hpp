// What all sentinels of a master said. A value, as a survey.
#pragma once

#include "backends/redis/doctor/checks.hpp"
#include "backends/redis/doctor/visits.hpp"

#include <string>
#include <vector>

namespace holdfast::redis_backend::doctor {

struct watch {
    std::string master;  // its name
    std::string in_use;  // the address of the one that the client uses; empty: none
    std::vector<visited> sentinels;
};

[[nodiscard]] std::vector<finding> judge(const watch&);

}  // namespace holdfast::redis_backend::doctor
