// What was done to a latch, put together: each question and its answer.
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
    time_ns wait = never;     // how long it may take

    time_ns asked = 0;
    time_ns answered = never;
    phase answer = phase::none;
    std::int64_t reported = 0;  // what is left, after down and read

    // Else it was done once, or not at all; and who only asked did nothing.
    [[nodiscard]] bool has_answer() const noexcept { return answer == phase::ok || answer == phase::busy; }
    // Zero is what it found or what it left behind.
    [[nodiscard]] bool shows_zero() const noexcept {
        switch (what) {
            case action::erase: return has_answer();
            case action::wait: return answer == phase::ok;
            case action::down:
            case action::read: return answer == phase::ok && reported == 0;
            default: return false;
        }
    }
    // It leaves the latch as it found it.
    [[nodiscard]] bool changes_nothing() const noexcept {
        return what == action::read || what == action::wait || answer == phase::busy;
    }
};

// In the order in which they asked. Without those that failed: nothing was done then. An answer that came
// while something was forgotten, or to a question that was asked before, is none: it may be forgotten too.
[[nodiscard]] std::vector<latch_use> uses_of(std::span<const event> events,
                                             std::span<const span_of_time> forgetting = {});

// The count after it was done to a latch with this one; empty: its answer would have been another.
[[nodiscard]] std::optional<std::int64_t> count_after(const latch_use& u, std::int64_t count);

}  // namespace holdfast::chaos
