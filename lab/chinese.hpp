// The part of the table of chinese() (language.hpp) that is in lab/chinese_rungs.cpp.
#pragma once

#include "lab/language.hpp"

#include <span>

namespace holdfast::lab {

[[nodiscard]] std::span<const translation> chinese_rungs();

}  // namespace holdfast::lab
