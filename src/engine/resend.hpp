// When a request that had no good answer is sent again.
#pragma once

#include "engine/validity.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::engine {

// A request that was sent may be carried out as late as this, by a server that stood still or from the
// buffers of a connection that died. What is on its way for longer is lost.
inline constexpr milliseconds longest_on_its_way{60'000};

// Counted from when a verb is called, its request may be carried out as late as this: without a connection it
// waits in the client until its answer is waited for no more, and only then may it be on its way.
[[nodiscard]] constexpr milliseconds carried_out_within(milliseconds answer_timeout) noexcept {
    return answer_timeout + longest_on_its_way;
}

// After a pause that grows, for as long as one answer is waited for. All sends together take no longer.
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

    // For how long a store remembers a request that it has carried out, so that none of its other sends
    // counts: the last of them leaves before answer_timeout is over, and is carried out or lost before
    // longest_on_its_way is.
    [[nodiscard]] static constexpr milliseconds remembered_for(milliseconds answer_timeout) noexcept {
        return carried_out_within(answer_timeout);
    }

  private:
    [[nodiscard]] time_point until() const { return later(first_sent_, answer_timeout_); }

    milliseconds answer_timeout_;
    time_point first_sent_{};
    unsigned sends_ = 0;
};

// A connection that died may have left a request with the server that is carried out later. So what may have
// been granted is given back at once (try 0), again after short pauses, and once more when the lease would be
// over or, if that is far, after longest_on_its_way. Then empty.
[[nodiscard]] inline std::optional<milliseconds> pause_before_undo(unsigned attempt,
                                                                   milliseconds lease) noexcept {
    switch (attempt) {
        case 0: return milliseconds{0};
        case 1: return milliseconds{100};
        case 2: return milliseconds{1'000};
        case 3: return std::min(lease, longest_on_its_way);
        default: return std::nullopt;
    }
}

}  // namespace holdfast::engine
