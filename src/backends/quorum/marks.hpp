// What the doctor makes of the marks that the members have: whether all clients mean the same members.
#pragma once

#include "backends/quorum/council.hpp"

#include <holdfast/examination.hpp>

#include <string>
#include <vector>

namespace holdfast::quorum_backend {

// As each member has it; an empty text: it has none. A failure also of those that could not be asked.
using marks = std::vector<backend::result<std::string>>;

// `subject` is the redlock. Of members that did not answer at all (`silent`) nothing is said.
[[nodiscard]] std::vector<finding> judge(const council&, const marks&, const engine::member_set& silent,
                                         const std::string& subject);

}  // namespace holdfast::quorum_backend
