// The author of a change of a group's mode: a person or a configuration centre, through this process.
#pragma once

#include <holdfast/group_mode.hpp>

#include <string>

namespace holdfast::detail {

// An empty `by` means the user of this process.
[[nodiscard]] admin::mode_author author_of_this_process(std::string by, std::string reason);

}  // namespace holdfast::detail
