// Makes a connection, and makes it again: at once where the source of places names another, after failures
// with pauses that grow.
#pragma once

#include "io/reactor.hpp"
#include "redis/backoff.hpp"
#include "redis/connector.hpp"

#include <functional>
#include <memory>

namespace holdfast::redis {

// A member of whoever wants the connection. Everything on the reactor thread but construction.
class dialer {
  public:
    struct handlers {
        std::function<void(connected)> on_connected;
        std::function<void(const connect_failure&)> on_failed;  // the next try is under way then
        std::function<void(const host_port&)> on_moved;         // what the source names now
    };

    dialer(const node_config& config, purpose use, io::reactor& reactor)
        : config_(config), use_(use), reactor_(reactor), backoff_(config.backoff) {}
    dialer(const dialer&) = delete;
    dialer& operator=(const dialer&) = delete;
    ~dialer() = default;

    // Once. Handlers are called while the owner lives, until `close`.
    void begin(std::weak_ptr<void> owner, handlers);
    // The connection that was made is gone.
    void lost();
    // There is no connection, and `to` is where it should lead: a try that goes elsewhere is given up, one
    // that waits is made now.
    void go_to(const host_port& to);
    void close();

  private:
    void dial();
    void dial_later(std::chrono::nanoseconds pause);

    const node_config& config_;
    const purpose use_;
    io::reactor& reactor_;
    std::weak_ptr<void> owner_;
    handlers tell_;
    bool closed_ = false;
    std::shared_ptr<connector> connector_;  // while it is at work
    io::timer_id timer_;                    // of serial 0: it is not armed
    std::shared_ptr<void> following_;       // the source
    backoff backoff_;
    io::time_point up_since_{};
};

}  // namespace holdfast::redis
