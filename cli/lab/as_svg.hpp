// A timeline as a picture within a page. Colours and shapes are in page.css.
#pragma once

#include "lab/timeline.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::lab {

// For text between tags and in attributes.
[[nodiscard]] std::string escaped(std::string_view text);

// `label` is for who cannot see it; `said` translates the names of places.
[[nodiscard]] std::string as_svg(const timeline& lanes, std::string_view label,
                                 const std::function<std::string(std::string_view)>& said);

}  // namespace holdfast::lab
