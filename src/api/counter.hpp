// The counter of a semaphore or a latch, for the public interface: a number, or an exception.
#pragma once

#include "session/client_lock.hpp"
#include "session/counter_operation.hpp"

#include <holdfast/error.hpp>

#include <variant>

namespace holdfast::detail {

[[noreturn]] void raise(const session::client_lock& of, const backend::failure& why);

inline std::int64_t number_or_raise(const session::client_lock& of, const backend::adjust_answer& answer) {
    if (const auto* no = std::get_if<backend::refused>(&answer)) raise(of, *no);
    if (const auto* no = std::get_if<backend::unknown>(&answer)) raise(of, *no);
    return std::get<backend::adjusted>(answer).value;
}

// A store's scripts count in doubles, which are exact up to here.
constexpr std::int64_t largest_count = std::int64_t{1} << 53;
inline void check_size(std::int64_t count) {
    if (count > largest_count || count < -largest_count)
        throw error(errc::invalid_argument, "counts go from -2^53 to 2^53");
}

inline std::int64_t adjust(session::client_lock& of, backend::adjustment what, std::int64_t amount = 0,
                           owner_id owner = {}) {
    auto& state = of.client();
    const session::client_state::call here(state);  // from here on close() waits for this call
    state.check_usable();
    const auto& key = of.key();
    auto operation = state.store().new_owner(key.of, 1);
    return number_or_raise(
        of, session::adjust(state, {key, what, amount, std::move(operation), std::move(owner)}));
}

}  // namespace holdfast::detail
