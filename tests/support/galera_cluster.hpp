// Real MariaDB servers that form a Galera cluster, for one test.
#pragma once

#include "support/mariadb_server.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace holdfast::test {

// The constructor returns when all nodes serve; then each has the database `locks`. Not thread-safe. Throws
// std::runtime_error, with the server's log, if a node does not start.
class galera_cluster {
  public:
    explicit galera_cluster(std::size_t nodes = 3);
    galera_cluster(const galera_cluster&) = delete;
    galera_cluster& operator=(const galera_cluster&) = delete;
    ~galera_cluster();

    // The library that makes a server a node; it comes with the server in Debian.
    [[nodiscard]] static bool available();

    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    [[nodiscard]] mariadb_server& node(std::size_t n) { return *nodes_.at(n); }

  private:
    struct ports;

    std::vector<std::unique_ptr<ports>> ports_;
    temp_dir transfers_;
    std::vector<std::unique_ptr<mariadb_server>> nodes_;
};

}  // namespace holdfast::test
