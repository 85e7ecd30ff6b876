// How long the store may keep a lease, by all requests that were sent for one owner.
#pragma once

#include "engine/retry_policy.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::engine {

// A request with an answer was carried out before the answer came. A request without one may wait in the
// client for a connection, or in the network, or in front of a stopped server; it may be carried out as late
// as carried_out_within allows. Not thread-safe; its owner guards it by a lock.
class kept {
  public:
    // Sets a lower bound, whatever requests follow.
    void at_least_until(time_point end) { until_ = std::max(until_, end); }

    void sent(const lease_request& r) { open_.push_back(r); }
    void carried_out(const lease_request& r, const clock_margin& margin, time_point now) {
        close(r);
        at_least_until(lease_request{now, r.lease()}.kept_until(margin, milliseconds{0}));
    }
    void not_answered(const lease_request& r, const clock_margin& margin, milliseconds answer_timeout) {
        close(r);
        at_least_until(r.kept_until(margin, carried_out_within(answer_timeout)));
    }

    // A request that still waits for its answer counts as unanswered.
    [[nodiscard]] time_point until(const clock_margin& margin, milliseconds answer_timeout) const {
        const auto late = carried_out_within(answer_timeout);
        auto end = until_;
        for (const auto& r : open_) end = std::max(end, r.kept_until(margin, late));
        return end;
    }

  private:
    // Equal requests are interchangeable.
    void close(const lease_request& r) {
        if (const auto it = std::find(open_.begin(), open_.end(), r); it != open_.end()) open_.erase(it);
    }

    time_point until_{};
    std::vector<lease_request> open_;
};

}  // namespace holdfast::engine
