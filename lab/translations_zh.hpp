// The part of the table of translations_zh() (language.hpp) that is in lab/translations_zh_rungs.cpp.
#pragma once

#include "lab/language.hpp"

#include <span>

namespace holdfast::lab {

[[nodiscard]] std::span<const translation> translations_zh_rungs();

}  // namespace holdfast::lab
