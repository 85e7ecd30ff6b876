// From what the connection says to what the seam says, where both have nothing to do with a kind of lock.
#pragma once

#include "redis/errors.hpp"
#include "redis/outcome.hpp"

#include <holdfast/backend.hpp>

#include <optional>
#include <variant>

namespace holdfast::redis_backend {

[[nodiscard]] inline backend::refused refusal(const redis::reply& error) {
    return {{redis::classify(error.text()), error.text()}};
}

// The answer when there is no good reply: refused (nothing was done) or unknown. Empty if there is one.
template <class Answer>
[[nodiscard]] std::optional<Answer> without_reply(const redis::outcome& o) {
    if (const auto* no = std::get_if<redis::not_sent>(&o)) return backend::refused{{no->code, no->text}};
    if (const auto* no = std::get_if<redis::no_answer>(&o)) return backend::unknown{{no->code, no->text}};
    const auto& reply = std::get<redis::reply>(o);
    if (reply.is_error()) return refusal(reply);
    return std::nullopt;
}

// A reply of another shape than the script can give: a proxy, or another program at that address.
[[nodiscard]] inline backend::unknown nonsense() {
    return {{make_error_code(errc::bad_reply), "a reply of an unexpected shape"}};
}

// An integer: the number that was asked for. A text: the key holds no number.
inline void answer_adjust(const redis::outcome& o, const backend::handler<backend::adjust_answer>& done) {
    using namespace backend;
    if (auto no = without_reply<adjust_answer>(o)) return done(*std::move(no));
    const auto& reply = std::get<redis::reply>(o);
    if (reply.is_integer()) return done(adjusted{reply.integer()});
    if (reply.is_text()) return done(refused{{make_error_code(errc::wrong_kind), "the key holds no number"}});
    done(nonsense());
}

}  // namespace holdfast::redis_backend
