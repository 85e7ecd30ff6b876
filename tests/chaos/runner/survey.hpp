// What is left in the servers after all clients have released everything.
#pragma once

#include "chaos/runner/locks.hpp"
#include "chaos/runner/topology.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::chaos {

// Call it while all clients are idle. No key may live for ever that should not, no lock may be held after
// the limit, and no permit may be lost. Returns what is wrong.
[[nodiscard]] std::vector<std::string> survey_locks(topology& servers, const std::vector<run_lock>& locks,
                                                    std::chrono::milliseconds limit);
// Call it after all clients have ended. No client may still be subscribed. Returns what is wrong.
[[nodiscard]] std::vector<std::string> survey_channels(topology& servers);

}  // namespace holdfast::chaos
