// What terminal, page and document say alike. All texts are English, for lab::in() to translate.
#pragma once

#include "lab/play/record.hpp"
#include "lab/rungs/rung.hpp"
#include "lab/trial.hpp"

#include <string>
#include <string_view>

namespace holdfast::lab {

[[nodiscard]] std::string_view role_of(role as);

// What to say after a play.
struct verdict {
    std::string_view head;
    std::string_view rest;
    bool good;  // nothing happened that should not happen to a lock
};
[[nodiscard]] verdict verdict_of(const schedule& played, const outcome& seen);

// Before the reason why holdfast did not play.
inline constexpr std::string_view not_played = "Not played:";

// What a stop point means that every scheme has; empty for one that only some have.
[[nodiscard]] std::string_view meaning_of(std::string_view stop);

[[nodiscard]] std::string milliseconds_of(instant t);

}  // namespace holdfast::lab
