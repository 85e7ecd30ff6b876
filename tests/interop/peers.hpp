// The servers and the other clients that all tests of this binary share. Each test has its own lock names.
#pragma once

#include "support/peer.hpp"

#include <chrono>
#include <ostream>
#include <span>

namespace holdfast::test {

[[nodiscard]] redis_server& interop_server();
// Servers that know nothing of each other.
inline constexpr std::size_t several = 3;
[[nodiscard]] std::span<redis_server, several> several_servers();

// One process each for all tests, since Java takes a second to start. Its watchdog timeout is brisk_lease.
[[nodiscard]] peer& redisson(const std::string& version);
[[nodiscard]] peer& redis_py();
[[nodiscard]] peer& redsync();
[[nodiscard]] peer& node_redlock();
// The process of redisson(), which locks on several servers too; see peer.hpp.
[[nodiscard]] peer& redisson_on_several();
[[nodiscard]] peer& redsync_on_several();
[[nodiscard]] peer& node_redlock_on_several();

// A client of another library, which polls while it waits.
struct poller {
    const char* name;
    peer& (*start)();
    std::chrono::milliseconds poll;  // its longest interval between polls, by its defaults

    friend std::ostream& operator<<(std::ostream& out, const poller& p) { return out << p.name; }
};

}  // namespace holdfast::test
