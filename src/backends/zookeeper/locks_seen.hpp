// What operators see of the locks of an ensemble.
#pragma once

#include "backends/zookeeper/names.hpp"
#include "backends/zookeeper/paths.hpp"
#include "store/inspection.hpp"
#include "zookeeper/session.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace holdfast::zookeeper_backend {

// A child of a lock's directory that was read. Empty data: it was gone by then.
struct seen_child {
    child node;
    zookeeper::node_data content;
};
// Pure. `now`: milliseconds since 1970.
[[nodiscard]] backend::lock_info describe(const lock_name&, const listing&,
                                          const std::map<std::string, seen_child>&, std::int64_t now);

// Each calls `done` once, on the reactor's thread.
void read_lock(const std::shared_ptr<zookeeper::session>&, const paths&, const lock_name&,
               backend::holders_shown, backend::time_point deadline,
               std::function<void(backend::result<backend::lock_info>)> done);
void list_locks(const std::shared_ptr<zookeeper::session>&, const paths&, const std::string& glob,
                backend::time_point deadline,
                std::function<void(backend::result<std::vector<backend::lock_info>>)> done);
// The children of the lock's directory that hold the lock; none if there is no directory.
void find_holders(const std::shared_ptr<zookeeper::session>&, const paths&, const lock_name&,
                  backend::time_point deadline,
                  std::function<void(backend::result<std::vector<child>>)> done);

}  // namespace holdfast::zookeeper_backend
