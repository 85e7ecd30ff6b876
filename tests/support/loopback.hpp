// TCP sockets on 127.0.0.1.
#pragma once

#include "support/unique_fd.hpp"

#include <cstdint>

namespace holdfast::test {

// Bound to 127.0.0.1:`port`, 0 for any free one, not yet listening: connections to it are refused.
[[nodiscard]] unique_fd bound_socket(std::uint16_t port);
[[nodiscard]] std::uint16_t port_of(const unique_fd& socket);

// A port that the kernel gives to no other process while this object lives. A server that sets SO_REUSEADDR,
// as redis-server does, can listen there, again and again. In between, connections are refused.
class reserved_port {
  public:
    reserved_port() : held_(bound_socket(0)), number_(port_of(held_)) {}

    [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

  private:
    unique_fd held_;
    std::uint16_t number_;
};

// Connected to 127.0.0.1:`port`; empty if no server listens there.
[[nodiscard]] unique_fd connect_to(std::uint16_t port);
// Returns at once, with a socket that never blocks: a stopped process may let its callers wait for minutes.
[[nodiscard]] unique_fd begin_to_connect_to(std::uint16_t port);

}  // namespace holdfast::test
