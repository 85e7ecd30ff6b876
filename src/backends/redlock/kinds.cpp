#include "backends/redlock/kinds.hpp"

#include <cstddef>

namespace holdfast::redlock_backend {

using backend::kind;

std::string_view why_unsupported(kind k) noexcept {
    switch (k) {
        case kind::native:
        case kind::native_fenced:
        // Each attempt has an owner of its own, and the client counts nested holds: the count on a member is
        // only for display. So an undo never takes back a part of an earlier grant.
        case kind::recursive: return {};
        case kind::semaphore:
        case kind::permit_semaphore:
            return "a semaphore cannot be counted by votes: of two permits on three servers three clients "
                   "could each win "
                   "two servers";
        case kind::latch: return "a latch is a counter, and counters on several servers drift apart";
        case kind::fair:
            return "a fair lock needs one queue; one on each server would have a different order on each";
        case kind::recursive_fenced:
            return "its fences are a counter, and counters on several servers drift apart; use "
                   "mutex{.fenced = true}";
        case kind::shared_read:
        case kind::shared_write:
            return "a redlock has only mutex and recursive_mutex; a multi_lock of one shared_mutex "
                   "on each server needs all servers, and works";
    }
    return {};
}

std::vector<kind> supported_kinds() {
    std::vector<kind> all;
    for (std::size_t i = 0; i < backend::kinds; ++i) {
        if (const auto k = static_cast<kind>(i); why_unsupported(k).empty()) all.push_back(k);
    }
    return all;
}

}  // namespace holdfast::redlock_backend
