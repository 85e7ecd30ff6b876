// The table of chinese(), see language.hpp, in two parts.
#pragma once

#include "lab/language.hpp"

#include <span>

namespace holdfast::lab {

[[nodiscard]] std::span<const translation> chinese_rungs();

}  // namespace holdfast::lab
