// Sends the questions of a survey to a server. Only this part of the doctor talks to it.
#pragma once

#include "backends/redis/doctor/survey.hpp"
#include "redis/node/node.hpp"

#include <functional>
#include <variant>

namespace holdfast::redis_backend::doctor {

struct inquiry {
    backend::examine_request wanted;
    backend::time_point deadline;
    std::chrono::milliseconds patience;  // the limit for one answer
    part as = part::addressed;
    std::string watched{};     // for a sentinel: the master's name
    std::vector<needs> own{};  // for the client itself
};
// The survey, or why there is no server to examine.
using seen = std::variant<survey, backend::failure>;

// Sends all questions at once that do not depend on another answer.
void ask(redis::node&, const inquiry&, std::function<void(seen)> done);

}  // namespace holdfast::redis_backend::doctor
