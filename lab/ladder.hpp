// All rungs, from the bottom to the top.
#pragma once

#include "lab/rungs/rung.hpp"

namespace holdfast::lab {

[[nodiscard]] std::span<const rung> ladder();
// nullptr if no rung has this name.
[[nodiscard]] const rung* find_rung(std::string_view name);

}  // namespace holdfast::lab
