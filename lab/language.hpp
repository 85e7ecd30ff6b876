// What the lab says, in the languages it speaks. The texts stand in English where they belong: in rungs,
// schemes and the director. A translation has a table of its own, by the English text.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace holdfast::lab {

enum class language { english, chinese };

struct translation {
    // "{}" stands for any text; the translation has as many of them, in the same order.
    std::string_view english;
    std::string_view other;
};

// lab/chinese.cpp, lab/chinese_rungs.cpp.
[[nodiscard]] std::span<const translation> chinese();

// English itself if nobody has translated the text.
[[nodiscard]] std::string in(language to, std::string_view english);
[[nodiscard]] bool is_translated(language to, std::string_view english);

}  // namespace holdfast::lab
