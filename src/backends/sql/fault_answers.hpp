// What a request answers if the database did not carry out its statement.
#pragma once

#include "backends/sql/database.hpp"

#include <optional>
#include <type_traits>

namespace holdfast::sql_backend {

template <class Answer>
[[nodiscard]] Answer failed(const fault& f) {
    if constexpr (std::is_constructible_v<Answer, backend::unknown>) {
        if (f.what == fault::effect::unknown) return backend::unknown{f.why};
        return backend::refused{f.why, std::nullopt};
    } else {
        return f.why;
    }
}

}  // namespace holdfast::sql_backend
