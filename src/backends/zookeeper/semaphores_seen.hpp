// What operators see of a semaphore in an ensemble.
#pragma once

#include "backends/zookeeper/locks_seen.hpp"
#include "backends/zookeeper/semaphore_reading.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace holdfast::zookeeper_backend {

// The nodes of the permits and of the line, in the order of their creation; their names begin with "leases/"
// and "locks/".
[[nodiscard]] std::vector<child> nodes_of(const semaphore_seen&);
// Pure. The permits of one owner are one holder. `now`: milliseconds since 1970.
[[nodiscard]] backend::lock_info describe(const lock_name&, const semaphore_seen&,
                                          const std::map<std::string, seen_child>&, std::int64_t now);

// Each calls `done` once, on the reactor's thread.
void read_semaphore_info(const std::shared_ptr<zookeeper::session>&, const semaphore_paths&, const lock_name&,
                         backend::time_point deadline,
                         std::function<void(backend::result<backend::lock_info>)> done);
void find_permits(const std::shared_ptr<zookeeper::session>&, const semaphore_paths&,
                  backend::time_point deadline,
                  std::function<void(backend::result<std::vector<held_node>>)> done);

}  // namespace holdfast::zookeeper_backend
