// Asks an ensemble for what endangers locks in it.
#pragma once

#include "backends/zookeeper/paths.hpp"
#include "store/inspection.hpp"
#include "zookeeper/server_words.hpp"
#include "zookeeper/session.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast::zookeeper_backend {

struct examined {
    std::vector<zookeeper::server> servers;
    backend::milliseconds tick;
    backend::milliseconds lease;
    std::optional<lock_name> name;  // look at its directory alone
};

// Calls `done` once, on any thread. Changes nothing.
void examine(const std::shared_ptr<zookeeper::session>&, zookeeper::server_words&, const paths&, examined,
             backend::time_point deadline, std::function<void(backend::result<examination>)> done);

}  // namespace holdfast::zookeeper_backend
