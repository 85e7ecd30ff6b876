// The way out when the arbiter is lost: a mode that all clients have in their URL.
#pragma once

#include <holdfast/config.hpp>
#include <holdfast/group_mode.hpp>

#include <cstddef>

namespace holdfast::joint_backend {

// See admin::plan_pin().
[[nodiscard]] admin::pin_plan plan_pin(const config& settings, std::size_t level);

}  // namespace holdfast::joint_backend
