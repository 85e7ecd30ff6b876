// What a request answers if the database could not carry it out.
#pragma once

#include "backends/sqlite/database.hpp"
#include "store/linearizable_register.hpp"
#include "store/requests.hpp"

#include <holdfast/error.hpp>

#include <exception>
#include <system_error>
#include <type_traits>

namespace holdfast::sqlite_backend {

template <class Answer>
[[nodiscard]] Answer failed(const database_error& e) {
    constexpr backend::milliseconds soon{50};
    if constexpr (std::is_constructible_v<Answer, backend::unknown>) {
        if (e.what_happened() == database_error::effect::unknown) return backend::unknown{e.why()};
        return backend::refused{e.why(), soon};
    } else {
        return e.why();
    }
}

// The answer to a change of a register.
[[nodiscard]] inline backend::result<backend::register_value> failed_change(const database_error& e) {
    auto why = e.why();
    if (e.what_happened() == database_error::effect::unknown)
        why.code = make_error_code(errc::unknown_outcome);
    return why;
}

// Anything but an answer of SQLite: on the reactor's thread it would end the process.
[[nodiscard]] inline database_error what_stopped_it(const std::exception& e) {
    using effect = database_error::effect;
    const auto* const known = dynamic_cast<const std::system_error*>(&e);
    if (known == nullptr) return {effect::unknown, {make_error_code(errc::out_of_memory)}};
    const bool is_ours = known->code().category() == category();
    return {effect::none, {is_ours ? known->code() : make_error_code(errc::unavailable), e.what()}};
}

}  // namespace holdfast::sqlite_backend
