// What time it is for an ensemble, by its leader's clock.
#pragma once

#include "backends/zookeeper/paths.hpp"
#include "store/server_clock.hpp"
#include "zookeeper/session.hpp"

#include <memory>
#include <vector>

namespace holdfast::zookeeper_backend {

// Makes a node beside the locks, which says when that was, and deletes it.
void read_clocks(const std::shared_ptr<zookeeper::session>& with, const paths& where, zookeeper::access whom,
                 backend::time_point deadline,
                 backend::handler<backend::result<std::vector<backend::clock_reading>>> done);

}  // namespace holdfast::zookeeper_backend
