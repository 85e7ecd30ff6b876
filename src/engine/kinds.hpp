// What the kinds of lock have in common and where they differ, as far as a client decides it. What a store
// does for each is the store's.
#pragma once

#include "engine/local_gate.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>

namespace holdfast::engine {

struct kind_rules {
    line threads = line::one_holds;
    // A thread that holds it by lock() may lock it again.
    bool reentrant = false;
    // A message wakes all who wait, in the same order each time, and only some of them are served.
    bool wakes_all = false;
    // So many permits can be acquired at a time. More than one: it is a semaphore.
    std::uint32_t most_permits = 1;
};

[[nodiscard]] constexpr kind_rules rules_of(backend::kind k) noexcept {
    using backend::kind;
    switch (k) {
        case kind::native:
        case kind::native_fenced: return {};
        case kind::recursive:
        case kind::recursive_fenced:
        case kind::shared_write: return {.reentrant = true, .wakes_all = true};
        // Of the one the store keeps the line of all processes, of the other all may hold it at once.
        case kind::fair:
        case kind::shared_read: return {.threads = line::all_ask, .reentrant = true};
        case kind::semaphore:
            return {.threads = line::one_asks, .wakes_all = true, .most_permits = 1'000'000'000};
        // Each has an id, which the store writes down.
        case kind::permit_semaphore:
            return {.threads = line::one_asks, .wakes_all = true, .most_permits = 1'000};
        case kind::latch: break;
    }
    return {.threads = line::all_ask};
}

}  // namespace holdfast::engine
