// Gives the address to connect to, if it can change.
#pragma once

#include "redis/config/node_config.hpp"
#include "redis/connection/handshake.hpp"

#include <functional>
#include <memory>
#include <variant>

namespace holdfast::redis {

// Used on the reactor thread only.
class endpoint_source {
  public:
    using answer = std::variant<host_port, connect_failure>;

    endpoint_source() = default;
    endpoint_source(const endpoint_source&) = delete;
    endpoint_source& operator=(const endpoint_source&) = delete;
    virtual ~endpoint_source() = default;

    // Asks anew and uses no cached answer. Calls `done` once, after this has returned, or never if the source
    // is closed.
    virtual void where(std::function<void(const answer&)> done) = 0;

    // Calls `moved` whenever the address changes, until the result is destroyed. Connections to other
    // addresses must then be given up, even if they seem to work.
    [[nodiscard]] virtual std::shared_ptr<void> follow(std::function<void(const host_port&)> moved) = 0;
};

}  // namespace holdfast::redis
