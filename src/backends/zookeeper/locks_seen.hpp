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

// What a node says about its holder or waiter; nullptr: it was not read.
[[nodiscard]] backend::holder_info holder_of(const child&, const seen_child*);
[[nodiscard]] backend::waiter_info waiter_of(const child&, const seen_child*, std::int64_t now);

// How many are shown to people.
inline constexpr std::size_t most_holders = 1'000;
inline constexpr std::size_t most_waiters = 100;

// Reads these children, by their names. Each calls `done` once, on the reactor's thread.
void read_nodes(const std::shared_ptr<zookeeper::session>&, const std::string& directory,
                const std::vector<child>&, backend::time_point deadline,
                std::function<void(backend::result<std::map<std::string, seen_child>>)> done);
void read_lock(const std::shared_ptr<zookeeper::session>&, const paths&, const lock_name&,
               backend::holders_shown, backend::time_point deadline,
               std::function<void(backend::result<backend::lock_info>)> done);
void list_locks(const std::shared_ptr<zookeeper::session>&, const paths&, const std::string& glob,
                backend::time_point deadline,
                std::function<void(backend::result<std::vector<backend::lock_info>>)> done);
// The nodes that hold the lock; none if it has no directory. A holder of several permits has as many nodes.
struct held_node {
    std::string owner;  // as uuid_of() writes it
    std::string path;
};
void find_holders(const std::shared_ptr<zookeeper::session>&, const paths&, const lock_name&,
                  backend::time_point deadline,
                  std::function<void(backend::result<std::vector<held_node>>)> done);

}  // namespace holdfast::zookeeper_backend
