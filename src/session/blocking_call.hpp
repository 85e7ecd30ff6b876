// Sends one request to the store and waits for its answer, for a thread that waits for nothing else; and the
// pause before a resend.
#pragma once

#include "base/parker.hpp"
#include "session/client_state.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

namespace holdfast::session {

// How often a waiting thread checks whether its client is being closed.
inline constexpr std::chrono::milliseconds look_again{100};

// `send` gets a handler to pass to a function of the store. Blocks until the handler is called, or until
// `until`, or until a closing client has no more time (client_state::waits_until). Without an answer the
// result is empty.
template <class Answer, class Send>
std::optional<Answer> blocking_call(client_state& of, boot_clock::time_point until, Send&& send) {
    // Shared, so that a late answer finds it.
    struct box {
        base::parker parker;
        std::optional<Answer> answer;
        std::atomic<bool> there{false};
    };
    const auto b = std::make_shared<box>();
    std::forward<Send>(send)([b](Answer a) {
        b->answer.emplace(std::move(a));
        b->there.store(true, std::memory_order_release);
        b->parker.unpark();
    });
    for (;;) {
        const auto last = std::min(until, of.waits_until());
        const auto now = boot_clock::now();
        if (now >= last) return std::nullopt;
        of.store().run_io(b->parker, std::min(last, now + look_again));
        b->parker.consume();
        if (b->there.load(std::memory_order_acquire)) return std::move(b->answer);
    }
}

// Blocks until `until`. Returns false, and earlier, if a closing client has no more time.
[[nodiscard]] inline bool pause(client_state& of, boot_clock::time_point until) {
    base::parker nobody_ends_it;
    for (;;) {
        const auto now = boot_clock::now();
        const auto enough = of.waits_until();
        if (now >= enough) return false;
        if (now >= until) return true;
        nobody_ends_it.park_until(std::min({until, enough, now + look_again}));
    }
}

}  // namespace holdfast::session
