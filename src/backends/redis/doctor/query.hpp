// Sends the questions of a snapshot to a server. Only this part of the doctor talks to it.
#pragma once

#include "backends/redis/doctor/snapshot.hpp"
#include "redis/node/node.hpp"

#include <functional>
#include <variant>

namespace holdfast::redis_backend::doctor {

struct query {
    backend::examine_request wanted;
    backend::time_point deadline;
    std::chrono::milliseconds patience;  // the limit for one answer
    part as = part::addressed;
    std::string watched{};             // for a sentinel: the master's name
    std::vector<required_acls> own{};  // for the client itself
};
// The snapshot, or why there is no server to examine.
using snapshot_result = std::variant<snapshot, backend::failure>;

// Sends all questions at once that do not depend on another answer.
void ask(redis::node&, const query&, std::function<void(snapshot_result)> done);

}  // namespace holdfast::redis_backend::doctor
