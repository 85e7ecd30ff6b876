// The servers and the other clients that all tests of this binary share. Tests keep apart by their names of
// locks.
#pragma once

#include "support/peer.hpp"

#include <span>

namespace holdfast::test {

[[nodiscard]] redis_server& interop_server();
// Servers that know nothing of each other.
inline constexpr std::size_t several = 3;
[[nodiscard]] std::span<redis_server, several> several_servers();

// One process each for all tests: it takes Java a second to start. Its watchdog timeout is brisk_lease.
[[nodiscard]] peer& redisson(const std::string& version);
[[nodiscard]] peer& redis_py();
[[nodiscard]] peer& redsync();
[[nodiscard]] peer& node_redlock();
// The same process as redisson(), which locks on these too; see peer.hpp.
[[nodiscard]] peer& redisson_on_several();
[[nodiscard]] peer& redsync_on_several();
[[nodiscard]] peer& node_redlock_on_several();

}  // namespace holdfast::test
