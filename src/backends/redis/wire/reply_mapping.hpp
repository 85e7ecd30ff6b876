// Translates the outcome of a command into the answer of a store, where that is the same for all kinds of
// lock.
#pragma once

#include "backends/redis/wire/acl_errors.hpp"
#include "redis/protocol/errors.hpp"
#include "redis/protocol/outcome.hpp"
#include "store/counters.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace holdfast::redis_backend {

// The refusal that an error reply of the server stands for.
[[nodiscard]] inline backend::refused refusal(std::string_view error_text) {
    const auto word = redis::error_word(error_text);
    auto ours = missing_right_of(error_text);
    if (word == "MOVED" || word == "ASK")
        ours = "the server is part of a Redis Cluster, whose URL begins with redis+cluster://";
    if (redis::is_unknown_command(error_text))
        ours =
            "the server lacks a command that this needs, which Redis 6.2 or later and Valkey have; holdfast "
            "doctor "
            "tells which";
    if (word == "READONLY")
        ours =
            "the server is a replica, which grants no locks; if no failover is under way, the URL of its "
            "master is meant, or redis+sentinel:// to follow the master";
    backend::refused no{{redis::classify(error_text), std::move(ours), std::string{error_text}}};
    // The error passes when the slot has moved.
    if (redis::is_tryagain(error_text)) {
        no.look_again = std::chrono::milliseconds{50};
        no.contention = true;
    }
    return no;
}

// The answer when there is no good reply: refused (nothing was done) or unknown. Empty if there is one.
template <class Answer>
[[nodiscard]] std::optional<Answer> without_reply(const redis::outcome& o) {
    if (const auto* no = std::get_if<redis::not_sent>(&o)) return backend::refused{{no->code, no->text}};
    if (const auto* no = std::get_if<redis::no_answer>(&o)) return backend::unknown{{no->code, no->text}};
    const auto& reply = std::get<redis::reply>(o);
    if (!reply.is_error()) return std::nullopt;
    // The server may have carried out a part.
    if (redis::is_torn(reply.text()))
        return backend::unknown{{redis::classify(reply.text()), {}, reply.text()}};
    return refusal(reply.text());
}

// The same for an attempt. A waiter goes on waiting if the server has no memory for its place in the queue or
// for its grant: memory may become free, and a held lock would be busy anyway.
[[nodiscard]] inline std::optional<backend::attempt_answer> no_grant(const redis::outcome& o,
                                                                     backend::intent want) {
    auto no = without_reply<backend::attempt_answer>(o);
    if (no && want == backend::intent::queue) {
        const auto* const refusal = std::get_if<backend::refused>(&*no);
        if (refusal != nullptr && refusal->code == errc::out_of_memory)
            return backend::busy{.holder = {}, .no_memory = true};
    }
    return no;
}

// The same for a request that changes nothing, where "no answer" means the same as "not sent".
[[nodiscard]] inline std::optional<backend::failure> failed(const redis::outcome& o) {
    const auto no = without_reply<backend::release_answer>(o);
    if (!no) return std::nullopt;
    if (const auto* r = std::get_if<backend::refused>(&*no)) return r->why();
    return backend::failure{errc::unavailable, std::get<backend::unknown>(*no).text};
}

// For a reply that the script cannot give: the sender is a proxy, or another program at that address.
[[nodiscard]] inline backend::unknown unexpected_reply() {
    return {{make_error_code(errc::bad_reply), "a reply of an unexpected shape"}};
}

// For a fence counter that cannot be increased: it keeps its content, and the lock is not taken.
[[nodiscard]] inline backend::refused bad_fence_counter(std::string_view key) {
    return {{errc::wrong_kind,
             "its fence counter, the key \"" + std::string{key} +
                 "\", does not hold a whole number below 2^53, so no greater fence can be given"}};
}

// An integer is the requested number. "much": it would be too large. Another text: the key holds no number.
inline void answer_adjust(const redis::outcome& o, const backend::handler<backend::adjust_answer>& done) {
    using namespace backend;
    if (auto no = without_reply<adjust_answer>(o)) return done(*std::move(no));
    const auto& reply = std::get<redis::reply>(o);
    if (reply.is_integer()) return done(adjusted{reply.integer()});
    if (reply.is_text() && reply.text() == "much")
        return done(refused{{errc::invalid_argument, "counts go from -2^53 to 2^53"}});
    if (reply.is_text()) return done(refused{{errc::wrong_kind}});
    done(unexpected_reply());
}

}  // namespace holdfast::redis_backend
