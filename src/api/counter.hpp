// The counter of a semaphore or a latch, for the public face: a number, or an exception.
#pragma once

#include "session/adjusting.hpp"
#include "session/cell.hpp"

#include <holdfast/error.hpp>

#include <variant>

namespace holdfast::detail {

[[noreturn]] void raise(const session::cell& of, const backend::failure& why);

inline std::int64_t number_or_raise(const session::cell& of, const backend::adjust_answer& answer) {
    if (const auto* no = std::get_if<backend::refused>(&answer)) raise(of, *no);
    if (const auto* no = std::get_if<backend::unknown>(&answer)) raise(of, *no);
    return std::get<backend::adjusted>(answer).value;
}

inline std::int64_t adjust(session::cell& of, backend::adjustment what, std::int64_t amount = 0,
                           owner_id owner = {}) {
    auto& core = of.client();
    core.check_usable();
    const auto& key = of.key();
    auto operation = core.store().new_owner(key.of, 1);
    return number_or_raise(
        of, session::adjust(core, {key, what, amount, std::move(operation), std::move(owner)}));
}

}  // namespace holdfast::detail
