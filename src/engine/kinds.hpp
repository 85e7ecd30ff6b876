// What the kinds of lock have in common and where they differ, as far as a client decides it. What a store
// does for each is the store's.
#pragma once

#include <holdfast/backend.hpp>

namespace holdfast::engine {

struct kind_rules {
    // A thread that holds it by lock() may lock it again.
    bool reentrant = false;
    // The waiters of one process stand in line and only the first asks the store. Otherwise each asks for
    // itself: because several may hold it at once, or because the store keeps the line of all processes.
    bool one_asks_for_all = true;
    // A message wakes all who wait, in the same order each time.
    bool wakes_all = false;
};

[[nodiscard]] constexpr kind_rules rules_of(backend::kind k) noexcept {
    using backend::kind;
    switch (k) {
        case kind::native:
        case kind::native_fenced: return {};
        case kind::recursive:
        case kind::recursive_fenced: return {.reentrant = true, .wakes_all = true};
        case kind::fair: return {.reentrant = true, .one_asks_for_all = false};
        case kind::shared_write: return {.reentrant = true, .wakes_all = true};
        case kind::shared_read: break;
    }
    return {.reentrant = true, .one_asks_for_all = false};
}

}  // namespace holdfast::engine
