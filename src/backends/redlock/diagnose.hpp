// Finds what endangers the locks of a redlock: on each member, and on all members together.
#pragma once

#include "backends/redlock/members.hpp"
#include "store/inspection.hpp"

namespace holdfast::redlock_backend {

// A member that does not answer is a finding. It is a failure only if no member answers.
void diagnose(const std::shared_ptr<members>&, const backend::examine_request&, time_point deadline,
              backend::handler<backend::result<examination>>);

}  // namespace holdfast::redlock_backend
