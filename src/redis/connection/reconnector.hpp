// Makes a connection and remakes it: at once if the endpoint source names another server, and after failures
// with growing pauses.
#pragma once

#include "io/reactor.hpp"
#include "redis/connection/backoff.hpp"
#include "redis/connection/connector.hpp"

#include <functional>
#include <memory>

namespace holdfast::redis {

// A member of the object that uses the connection. On the reactor thread only, except for construction.
class reconnector {
  public:
    struct handlers {
        std::function<void(connected)> on_connected;
        std::function<void(const connect_failure&)> on_failed;  // the next try is already scheduled
        std::function<void(const host_port&)> on_moved;         // the address that the source names now
    };

    reconnector(const node_config& config, purpose use, io::reactor& reactor)
        : config_(config), use_(use), reactor_(reactor), backoff_(config.backoff) {}
    reconnector(const reconnector&) = delete;
    reconnector& operator=(const reconnector&) = delete;
    ~reconnector() = default;

    // Call once. Handlers run while the owner lives, until `close`.
    void begin(std::weak_ptr<void> owner, handlers);
    // The owner has lost the connection.
    void lost();
    // While there is no connection: it should lead to `to`. Cancels a try to another address; makes a try
    // that waits now.
    void go_to(const host_port& to);
    void close();

  private:
    void connect();
    void connect_later(std::chrono::nanoseconds pause);

    const node_config& config_;
    const purpose use_;
    io::reactor& reactor_;
    std::weak_ptr<void> owner_;
    handlers handlers_;
    bool closed_ = false;
    std::shared_ptr<connector> connector_;  // while it works
    io::timer_id timer_;                    // serial 0: not armed
    std::shared_ptr<void> following_;       // keeps us a follower of the source
    backoff backoff_;
    io::time_point up_since_{};
};

}  // namespace holdfast::redis
