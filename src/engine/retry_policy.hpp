// When to send a request again that got no good answer.
#pragma once

#include "engine/validity.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::engine {

// A request may be carried out this long after it was sent, by a server that was stopped or from the buffers
// of a dead connection. A request that is under way for longer is lost.
inline constexpr milliseconds longest_on_its_way{60'000};

// The same, counted from the call of a store function: without a connection, the request waits in the client
// for up to answer_timeout, and only then may it be sent.
[[nodiscard]] constexpr milliseconds carried_out_within(milliseconds answer_timeout) noexcept {
    return answer_timeout + longest_on_its_way;
}

// Resends after a growing pause, within the time-out of one answer. All sends together take no longer.
class retry_policy {
  public:
    explicit retry_policy(milliseconds answer_timeout) : answer_timeout_(answer_timeout) {}

    // Records a send now. Returns how long to wait for its answer.
    time_point on_sent(time_point now) {
        if (sends_++ == 0) first_sent_ = now;
        return until();
    }
    // When to resend. Empty: there is no time left.
    [[nodiscard]] std::optional<time_point> next_send(time_point now) const {
        const auto at = later(now, milliseconds{20} * (1U << std::min(sends_ - 1, 8U)));
        return at < until() ? std::optional{at} : std::nullopt;
    }
    [[nodiscard]] time_point first_sent() const noexcept { return first_sent_; }

    // How long a store must remember a request that it has carried out, so that no resend of it counts: the
    // last resend leaves before answer_timeout is over, and is carried out or lost within longest_on_its_way.
    [[nodiscard]] static constexpr milliseconds remembered_for(milliseconds answer_timeout) noexcept {
        return carried_out_within(answer_timeout);
    }

  private:
    [[nodiscard]] time_point until() const { return later(first_sent_, answer_timeout_); }

    milliseconds answer_timeout_;
    time_point first_sent_{};
    unsigned sends_ = 0;
};

// A dead connection may have left a request with the server, which carries it out later. So the client
// releases what may have been granted at once (try 0), again after short pauses, and once more at the end of
// the lease, but no later than after longest_on_its_way. Then empty.
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
