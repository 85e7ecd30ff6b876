// Compares the membership keys of the members: do all clients mean the same members?
#pragma once

#include "backends/redlock/members.hpp"

#include <holdfast/examination.hpp>

#include <string>
#include <vector>

namespace holdfast::redlock_backend {

// The membership key of each member; empty if it has none, a failure if it could not be read.
using membership_keys = std::vector<backend::result<std::string>>;

// `subject` names the redlock. Members in `no_answer` are left out.
[[nodiscard]] std::vector<finding> membership_findings(const members&, const membership_keys&,
                                                       const engine::member_set& no_answer,
                                                       const std::string& subject);

}  // namespace holdfast::redlock_backend
