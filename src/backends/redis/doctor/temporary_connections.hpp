// Short-lived connections to servers to which a client has none, such as sentinels and replicas: each serves
// one snapshot.
#pragma once

#include "backends/redis/doctor/query.hpp"
#include "io/reactor.hpp"
#include "redis/config/node_config.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::redis_backend::doctor {

struct connection_to {
    redis::node_config to;
    query what;
};
struct server_result {
    std::string address;
    part as;
    snapshot_result found;
};

// Thread-safe. The reactor must outlive it.
class temporary_connections {
  public:
    explicit temporary_connections(io::reactor&);
    temporary_connections(const temporary_connections&) = delete;
    temporary_connections& operator=(const temporary_connections&) = delete;
    ~temporary_connections();

    // Makes all connections at once. Calls `done` with the results in the same order, on the reactor thread
    // or, if there are none to make, at once. Does not retry a server that refuses the connection.
    void ask_all(std::vector<connection_to>, std::function<void(std::vector<server_result>)> done);

    // Queries under way end with errc::closed before this returns. Do not call it on the reactor thread.
    void close();
    // See node::abandon.
    void abandon() noexcept;

  private:
    class batch;
    struct shared;
    std::shared_ptr<shared> shared_;
};

}  // namespace holdfast::redis_backend::doctor
