// Whether a store that fails is worth asking: after failures in a row a client does without it for a while,
// and then tries one request. A breaker makes a client fail fast; which store has a lock is not its affair.
//
//   closed     -- `failures` in a row within `within` --> open
//   open       -- the pause is over --> half open, for one request
//   half open  -- it worked --> closed; it failed --> open, for twice as long
//
// Not thread-safe; reads no clock.
#pragma once

#include <holdfast/types.hpp>

#include <algorithm>
#include <chrono>

namespace holdfast::fallback {

using time_point = boot_clock::time_point;
using std::chrono::milliseconds;

struct breaker_settings {
    unsigned failures = 3;
    milliseconds within{10'000};
    milliseconds apart{
        50};  // failures that are closer have one cause, such as a lost connection, and are one
    milliseconds open_for{5'000};
    milliseconds open_for_at_most{60'000};
};

class breaker {
  public:
    enum class state { closed, open, half_open };

    explicit breaker(const breaker_settings& how = {}) : how_(how), pause_(how.open_for) {}

    // Whether to send a request now. While it is half open only one is sent at a time: report its result.
    [[nodiscard]] bool permits(time_point now) {
        if (state_ == state::closed) return true;
        if (now < until_) return false;
        // An answer that never comes must not keep it half open for ever.
        state_ = state::half_open;
        until_ = now + how_.open_for;
        return true;
    }
    void succeeded() {
        state_ = state::closed;
        failures_ = 0;
        pause_ = how_.open_for;
    }
    // `jitter` in [0, 1) makes the clients of a store come back at different times.
    void failed(time_point now, double jitter) {
        if (state_ == state::open) return;  // of a request that was sent before it opened
        if (state_ == state::closed) {
            if (failures_ > 0 && now - last_failure_ < how_.apart) return;
            last_failure_ = now;
            if (failures_ == 0 || now - first_failure_ > how_.within) {
                failures_ = 0;
                first_failure_ = now;
            }
            if (++failures_ < how_.failures) return;
        } else {
            pause_ = std::min(2 * pause_, how_.open_for_at_most);
        }
        state_ = state::open;
        const std::chrono::duration<double, std::milli> pause{static_cast<double>(pause_.count()) *
                                                              (0.75 + 0.5 * jitter)};
        until_ = now + std::chrono::duration_cast<boot_clock::duration>(pause);
    }

    // The store can be reached again: the next request is not made to wait.
    void hurry(time_point now) {
        if (state_ == state::open) until_ = std::min(until_, now);
    }

    [[nodiscard]] state now() const noexcept { return state_; }
    // It may ask, and has not for so long that its store has no locks of this client any more.
    [[nodiscard]] bool is_unused(time_point now) const {
        return state_ != state::closed && now >= until_ + how_.open_for_at_most;
    }

  private:
    const breaker_settings how_;
    state state_ = state::closed;
    unsigned failures_ = 0;       // in a row
    time_point first_failure_{};  // of them
    time_point last_failure_{};
    milliseconds pause_;  // of the next opening
    time_point until_{};  // open: no request before; half open: one more from then on
};

}  // namespace holdfast::fallback
