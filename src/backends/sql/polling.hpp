// When a waiter asks again, where no message calls it.
#pragma once

#include "engine/lock_record.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::sql_backend {

// The waiter's entry in the queue. nullptr: it is not in it.
[[nodiscard]] inline const engine::lock_record::waiter* place_of(const engine::lock_record& r,
                                                                 const owner_id& owner) {
    const auto found =
        std::find_if(r.queue.begin(), r.queue.end(), [&](const auto& w) { return w.owner == owner; });
    return found == r.queue.end() ? nullptr : &*found;
}

// The first waiter asks soon, those behind it later: it is not their turn. One that has waited for long may
// be served a little later, and so does not load the server for as long as a lock is held.
[[nodiscard]] inline std::chrono::milliseconds pause_of(const engine::lock_record& r, const owner_id& owner,
                                                        engine::store_time now) {
    constexpr std::chrono::milliseconds shortest{2};
    constexpr std::chrono::milliseconds longest{40};
    const auto found =
        std::find_if(r.queue.begin(), r.queue.end(), [&](const auto& w) { return w.owner == owner; });
    if (found == r.queue.end()) return longest;
    const auto by_place = shortest * (found - r.queue.begin() + 1);
    const auto by_time = std::chrono::duration_cast<std::chrono::milliseconds>(now - found->since) / 8;
    return std::min<std::chrono::milliseconds>(longest,
                                               std::max<std::chrono::milliseconds>(by_place, by_time));
}

}  // namespace holdfast::sql_backend
