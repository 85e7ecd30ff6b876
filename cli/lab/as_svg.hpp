// Draws a timeline as a picture within a page. page.css has the colours and shapes.
#pragma once

#include "lab/play/timeline.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::lab {

// Escapes text between tags and in attributes.
[[nodiscard]] std::string escaped(std::string_view text);

// `label` describes the picture for screen readers; `translated` translates its texts.
[[nodiscard]] std::string as_svg(const timeline& lanes, std::string_view label,
                                 const std::function<std::string(std::string_view)>& translated);

}  // namespace holdfast::lab
