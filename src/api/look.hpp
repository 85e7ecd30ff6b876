// An operator's request to the store: returns the answer or throws.
#pragma once

#include "base/text.hpp"
#include "session/blocking_call.hpp"
#include "session/client_state.hpp"
#include "store/inspection.hpp"

#include <holdfast/error.hpp>

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace holdfast::detail {

// Inspecting takes several round trips; it may take as long as this many answers.
inline constexpr int answers_to_inspect = 4;

// `send` receives the store's inspection, the time until which to wait, and a handler. The message of an
// error begins with `failed`.
template <class T, class Send>
T look(session::client_state& state, int answers, const std::string& failed, Send send) {
    state.check_usable();
    auto* const there = state.store().as_inspection();
    if (there == nullptr) throw error(errc::invalid_argument, failed + ": this store cannot show its locks");
    const auto until = boot_clock::now() + state.settings.answer_timeout * answers;
    auto got = session::blocking_call<backend::result<T>>(
        state, until, [&](auto handler) { send(*there, until, std::move(handler)); });
    if (!got) throw error(errc::unavailable, failed + ": no answer came");
    if (const auto* no = std::get_if<backend::failure>(&*got)) {
        const auto why = no->text.empty() ? no->code.message() : base::printable(no->text);
        throw error(no->code, failed + ": " + why, no->server_text);
    }
    return std::get<T>(std::move(*got));
}

}  // namespace holdfast::detail
