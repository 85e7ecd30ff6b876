// The uses of a latch, put together from events: each request and its answer.
#pragma once

#include "chaos/history/event.hpp"

#include <optional>
#include <span>
#include <vector>

namespace holdfast::chaos {

struct latch_use {
    std::uint64_t id = 0;
    std::uint32_t process = 0;
    std::uint16_t lock = 0;
    action what = action::read;
    std::int64_t amount = 0;  // of set and down
    time_ns wait = never;     // its time limit

    time_ns asked = 0;
    time_ns answered = never;
    phase answer = phase::none;
    std::int64_t reported = 0;  // the count that is left, of down and read

    // A use without an answer took effect once or never; a read or wait has no effect.
    [[nodiscard]] bool has_answer() const noexcept { return answer == phase::ok || answer == phase::busy; }
    // The count was zero before the use or after it.
    [[nodiscard]] bool shows_zero() const noexcept {
        switch (what) {
            case action::erase: return has_answer();
            case action::wait: return answer == phase::ok;
            case action::down:
            case action::read: return answer == phase::ok && reported == 0;
            default: return false;
        }
    }
    // The use leaves the latch as it was.
    [[nodiscard]] bool changes_nothing() const noexcept {
        return what == action::read || what == action::wait || answer == phase::busy;
    }
};

// In the order of their requests, without failed uses, which did nothing. A use that overlaps a time of
// forgetting counts as unanswered: it may be forgotten too.
[[nodiscard]] std::vector<latch_use> uses_of(std::span<const event> events,
                                             std::span<const span_of_time> forgetting = {});

// The count after this use of a latch with `count`. Empty: its answer would have been another one.
[[nodiscard]] std::optional<std::int64_t> count_after(const latch_use& u, std::int64_t count);

}  // namespace holdfast::chaos
