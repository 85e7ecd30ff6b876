// Puts the questions of a survey to a server: the only part of the doctor that talks to it.
#pragma once

#include "backends/redis/doctor/survey.hpp"
#include "redis/node.hpp"

#include <functional>
#include <variant>

namespace holdfast::redis_backend::doctor {

struct inquiry {
    backend::examine_request wanted;
    backend::time_point deadline;
    std::chrono::milliseconds patience;  // for one answer
    part as = part::addressed;
    std::string watched{};     // of a sentinel: the master's name
    std::vector<needs> own{};  // of the client itself
};
// What was found, or why there is no server to look at.
using seen = std::variant<survey, backend::failure>;

// All that can be asked at once is asked at once.
void ask(redis::node&, const inquiry&, std::function<void(seen)> done);

}  // namespace holdfast::redis_backend::doctor
