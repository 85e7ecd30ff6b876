// Asks the ensemble, by writes that change nothing, which nodes still exist.
#pragma once

#include "zookeeper/session.hpp"

#include <functional>
#include <string>
#include <vector>

namespace holdfast::zookeeper_backend {

// What became of the question, and, if it was answered, whether each node exists, in the order of the paths.
struct checked {
    zookeeper::answer how;  // without a body
    std::vector<bool> exist;
};

// Calls `done` once, on the reactor's thread. Each question is a quorum write, so its answer is true of a
// moment after it was sent, whatever server gave it.
void check_nodes(const std::shared_ptr<zookeeper::session>& with, std::vector<std::string> paths,
                 zookeeper::time_point deadline, std::function<void(const checked&)> done);

}  // namespace holdfast::zookeeper_backend
