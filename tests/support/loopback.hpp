// TCP sockets on 127.0.0.1.
#pragma once

#include "support/unique_fd.hpp"

#include <cstdint>

namespace holdfast::test {

// Bound to 127.0.0.1:`port`, 0 for any free one, not yet listening: connections to it are refused.
[[nodiscard]] unique_fd bound_socket(std::uint16_t port);
[[nodiscard]] std::uint16_t port_of(const unique_fd& socket);

// A port that was free a moment ago. Somebody else may take it before you do: be ready to ask for another.
[[nodiscard]] std::uint16_t free_port();

// Connected to 127.0.0.1:`port`; empty if nobody listens there.
[[nodiscard]] unique_fd connect_to(std::uint16_t port);

}  // namespace holdfast::test
