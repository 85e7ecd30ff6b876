// The acquisitions of a history, put together from its events: the answers, and how long holders believed
// their leases valid.
#pragma once

#include "chaos/history/event.hpp"

#include <span>
#include <vector>

namespace holdfast::chaos {

struct attempt {
    std::uint64_t id = 0;
    std::uint64_t outer = 0;
    std::uint32_t process = 0;
    std::uint32_t thread = 0;
    std::uint32_t permits = 1;
    std::uint16_t lock = 0;
    std::uint16_t depth = 1;
    chaos::side side = side::only;
    time_ns wait = never;
    time_ns lease = 0;

    time_ns asked = 0;
    time_ns answered = never;    // never: the history or the process ended before
    phase answer = phase::none;  // ok: a hold; only then do the members below mean something
    std::uint64_t fence = 0;
    std::uint64_t token = 0;
    // The latest time at which the holder surely believed the lease valid: a deadline that it received, or
    // a look that found it valid. long_ago: none is known.
    time_ns believed = long_ago;
    time_ns release_begun = never;
    time_ns release_answered = never;
    phase release = phase::none;
    // When the holder learned that the lease had ended before the promised time. never: it did not.
    time_ns lost = never;
    time_ns promised = long_ago;  // the latest deadline that it received
    // The request that was granted was sent then at the earliest. long_ago: not known.
    time_ns granted_from = long_ago;
    // The time by which lost_token() had not reported that the lease was over. never: it had.
    time_ns unreported = never;

    [[nodiscard]] bool held() const noexcept { return answer == phase::ok; }
};

// The hold ended by force at `t` at the earliest. If its answer came later, it may have been over by then
// and has no firm part.
void end_firm_part(attempt& a, time_ns t);

// In the order of their requests.
[[nodiscard]] std::vector<attempt> attempts_of(std::span<const event> events);

// The firm part of a hold is the time in which its holder surely believed the lease valid: from the answer
// to the start of the release, or to the end of the lease if that was earlier. Every order of events that
// explains the history must grant it. The true hold may have been longer at both ends.
struct firm_part {
    time_ns from = 0;
    time_ns to = 0;
    const attempt* of = nullptr;

    // The answer came when the lease was over, or the release began at once: the hold existed at this
    // moment only.
    [[nodiscard]] bool empty() const noexcept { return from >= to; }
};

// Sorted by time. Attempts without a grant have none.
[[nodiscard]] std::vector<firm_part> firm_parts(std::span<const attempt> attempts);

}  // namespace holdfast::chaos
