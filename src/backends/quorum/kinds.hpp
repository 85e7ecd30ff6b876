// Which kinds of lock can be had on a redlock, and why not the others.
#pragma once

#include <holdfast/backend.hpp>

#include <string_view>
#include <vector>

namespace holdfast::quorum_backend {

// Empty if it can be had.
[[nodiscard]] std::string_view objection_to(backend::kind k);
// Those that can.
[[nodiscard]] std::vector<backend::kind> kinds_had();

}  // namespace holdfast::quorum_backend
