// When a request that had no good answer is sent again: after a pause that grows, for as long as one answer
// is waited for. All sends together take no longer.
#pragma once

#include "engine/validity.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::engine {

class resend {
  public:
    explicit resend(milliseconds answer_timeout) : answer_timeout_(answer_timeout) {}

    // It is sent now. Returns until when its answer is waited for.
    time_point sent(time_point now) {
        if (sends_++ == 0) first_sent_ = now;
        return until();
    }
    // Empty: there is no time left.
    [[nodiscard]] std::optional<time_point> again(time_point now) const {
        const auto at = later(now, milliseconds{20} * (1U << std::min(sends_ - 1, 8U)));
        return at < until() ? std::optional{at} : std::nullopt;
    }
    [[nodiscard]] time_point first_sent() const noexcept { return first_sent_; }

  private:
    [[nodiscard]] time_point until() const { return later(first_sent_, answer_timeout_); }

    milliseconds answer_timeout_;
    time_point first_sent_{};
    unsigned sends_ = 0;
};

}  // namespace holdfast::engine
