// One question to the store and its answer, for a thread that waits for nothing else.
#pragma once

#include "base/parker.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

namespace holdfast::session {

// `send` gets a handler to pass to a verb. Blocks until it is called or `until`; then the answer is empty.
template <class Answer, class Send>
std::optional<Answer> ask(backend::store& store, boot_clock::time_point until, Send&& send) {
    // Shared: a late answer must find a place to go to.
    struct box {
        backend::parker parker;
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
        store.lend(b->parker, until);
        b->parker.consume();
        if (b->there.load(std::memory_order_acquire)) return std::move(b->answer);
        if (boot_clock::now() >= until) return std::nullopt;
    }
}

}  // namespace holdfast::session
