// The latest time at which a lease expires in the store, by all requests that were sent for one owner.
#pragma once

#include "engine/retry_policy.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::engine {

// A request with an answer was carried out before the answer came. A request without one may wait in the
// client for a connection, or in the network, or in front of a stopped server; it may be carried out as late
// as carried_out_within allows. Not thread-safe; its owner guards it by a lock.
class latest_expiry {
  public:
    // Sets a lower bound, whatever requests follow.
    void at_least_until(time_point end) { lower_bound_ = std::max(lower_bound_, end); }

    void sent(const lease_request& r) { unanswered_.push_back(r); }
    void carried_out(const lease_request& r, const clock_margin& margin, time_point now) {
        remove(r);
        at_least_until(lease_request{now, r.lease()}.expires_by(margin, milliseconds{0}));
    }
    void not_answered(const lease_request& r, const clock_margin& margin, milliseconds answer_timeout) {
        remove(r);
        at_least_until(r.expires_by(margin, carried_out_within(answer_timeout)));
    }

    // A request that still waits for its answer counts as unanswered.
    [[nodiscard]] time_point time(const clock_margin& margin, milliseconds answer_timeout) const {
        const auto late = carried_out_within(answer_timeout);
        auto end = lower_bound_;
        for (const auto& r : unanswered_) end = std::max(end, r.expires_by(margin, late));
        return end;
    }

  private:
    // Equal requests are interchangeable.
    void remove(const lease_request& r) {
        if (const auto it = std::find(unanswered_.begin(), unanswered_.end(), r); it != unanswered_.end())
            unanswered_.erase(it);
    }

    time_point lower_bound_{};
    std::vector<lease_request> unanswered_;
};

}  // namespace holdfast::engine
