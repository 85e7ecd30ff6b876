// What is left in the servers when everybody has given everything back.
#pragma once

#include "chaos/runner/locks.hpp"
#include "chaos/runner/topology.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::chaos {

// All clients stand still: no key lives for ever that should not, within the limit no lock is held any more,
// and no permit is lost. Returns what is wrong.
[[nodiscard]] std::vector<std::string> survey_keys(topology& servers, const std::vector<run_lock>& locks,
                                                   std::chrono::milliseconds limit);
// All clients have gone: nobody listens any more.
[[nodiscard]] std::vector<std::string> survey_channels(topology& servers);

}  // namespace holdfast::chaos
