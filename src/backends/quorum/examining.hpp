// What endangers the locks of a redlock: on each member, and on all of them together.
#pragma once

#include "backends/quorum/council.hpp"

#include <holdfast/backend.hpp>

namespace holdfast::quorum_backend {

// A member that cannot be asked is a finding and no failure, unless it is so with all of them.
void examine(const std::shared_ptr<council>&, const backend::examine_request&, time_point deadline,
             backend::handler<backend::result<examination>>);

}  // namespace holdfast::quorum_backend
