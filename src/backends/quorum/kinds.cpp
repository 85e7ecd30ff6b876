#include "backends/quorum/kinds.hpp"

#include <cstddef>

namespace holdfast::quorum_backend {

using backend::kind;

std::string_view objection_to(kind k) {
    switch (k) {
        case kind::native:
        case kind::native_fenced:
        // An owner is one attempt's, and how often it holds the lock its client counts: the count on a member
        // is only shown there. So what is undone was never a part of an earlier grant.
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
            return "only mutex and recursive_mutex can be had on a redlock; a multi_lock of one shared_mutex "
                   "on each server needs all servers, and works";
    }
    return {};
}

std::vector<kind> kinds_had() {
    std::vector<kind> all;
    for (std::size_t i = 0; i < backend::kinds; ++i) {
        if (const auto k = static_cast<kind>(i); objection_to(k).empty()) all.push_back(k);
    }
    return all;
}

}  // namespace holdfast::quorum_backend
