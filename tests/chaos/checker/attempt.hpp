// The events of a history put together: each acquisition, what was answered, and how long its holder believed
// in it.
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
    time_ns answered = never;    // never: the history ends, or the process did
    phase answer = phase::none;  // ok: it is a hold, and what follows means something
    std::uint64_t fence = 0;
    std::uint64_t token = 0;
    // The latest time for which it is known that the holder was told "yours": a deadline it was given, or a
    // look at which it was valid. long_ago: nothing is known for sure.
    time_ns believed = long_ago;
    time_ns release_begun = never;     // it began to release
    time_ns release_answered = never;  // and was answered
    phase release = phase::none;
    // It was told that the lease had ended, before the time that it had been promised. never: it was not.
    time_ns lost = never;
    time_ns promised = long_ago;  // that time
    // Its lease was over, and by this time lost() had not said so. never: it had.
    time_ns unreported = never;

    [[nodiscard]] bool held() const noexcept { return answer == phase::ok; }
};

// Somebody took it away, at `t` at the earliest. If that was before its answer came it may have been over by
// then, and nothing of it is firm.
void end_firm_part(attempt& a, time_ns t);

// In the order in which they asked.
[[nodiscard]] std::vector<attempt> attempts_of(std::span<const event> events);

// Histories are judged by their firm parts: what the holder surely believed to have, and what every order of
// events that explains the history must therefore grant it. From the answer to when it began to give it back,
// or to the end of the lease if that was earlier. The true hold may have been longer at both ends.
struct firm_part {
    time_ns from = 0;
    time_ns to = 0;
    const attempt* of = nullptr;

    // The answer came when the lease was over, or was given back at once: it was there at this moment.
    [[nodiscard]] bool empty() const noexcept { return from >= to; }
};

// By time. Attempts that got nothing have none.
[[nodiscard]] std::vector<firm_part> firm_parts(std::span<const attempt> attempts);

}  // namespace holdfast::chaos
