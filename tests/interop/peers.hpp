// The server and the other clients that all tests of this binary share. Tests keep apart by their names of
// locks.
#pragma once

#include "support/peer.hpp"

namespace holdfast::test {

[[nodiscard]] redis_server& interop_server();

// One process each for all tests: it takes Java a second to start. Its watchdog timeout is brisk_lease.
[[nodiscard]] peer& redisson(const std::string& version);
[[nodiscard]] peer& redis_py();
[[nodiscard]] peer& redsync();
[[nodiscard]] peer& node_redlock();

}  // namespace holdfast::test
