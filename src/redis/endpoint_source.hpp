// Where connections lead, if that is not always the same place.
#pragma once

#include "redis/config.hpp"
#include "redis/handshake.hpp"

#include <functional>
#include <memory>
#include <variant>

namespace holdfast::redis {

// Everything on the reactor thread.
class endpoint_source {
  public:
    using answer = std::variant<host_port, connect_failure>;

    endpoint_source() = default;
    endpoint_source(const endpoint_source&) = delete;
    endpoint_source& operator=(const endpoint_source&) = delete;
    virtual ~endpoint_source() = default;

    // Finds out now, not from memory. `done` is called once, not before this returns, or never if the source
    // is closed.
    virtual void where(std::function<void(const answer&)> done) = 0;

    // `moved` is called whenever it is another place than before, until the result is dropped: connections
    // that lead elsewhere are to be given up, whatever they seem to be good for.
    [[nodiscard]] virtual std::shared_ptr<void> follow(std::function<void(const host_port&)> moved) = 0;
};

}  // namespace holdfast::redis
