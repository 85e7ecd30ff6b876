// The lab's texts in its languages. Rungs, schemes and the director contain them in English. A translation is
// a table whose keys are the English texts.
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

// lab/translations_zh.cpp, lab/translations_zh_rungs.cpp.
[[nodiscard]] std::span<const translation> translations_zh();

// The English text if it has no translation.
[[nodiscard]] std::string in(language to, std::string_view english);
[[nodiscard]] bool is_translated(language to, std::string_view english);

}  // namespace holdfast::lab
