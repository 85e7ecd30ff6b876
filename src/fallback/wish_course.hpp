// Whether a wish for a mode still counts, by what was seen of the group since it came.
#pragma once

#include <holdfast/group_mode.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace holdfast::fallback {

class wish_course {
  public:
    explicit wish_course(std::size_t goal) : goal_(goal) {}

    // Somebody has decided otherwise since the last look: the mode has moved away from the goal, or its two
    // levels are to stay. All who follow the wish only move towards the goal.
    [[nodiscard]] bool is_overruled_by(const admin::group_mode& now) {
        const auto is = distance_from(now);
        const auto was = std::exchange(distance_, is);
        const bool stayed = std::exchange(stays_, now.settled);
        return was && (is > *was || (now.settled && !stayed));
    }

  private:
    [[nodiscard]] std::size_t distance_from(const admin::group_mode& mode) const {
        const auto at = mode.needed.front() + mode.needed.back();  // level i: 2i; levels i and i + 1: 2i + 1
        return at > 2 * goal_ ? at - 2 * goal_ : 2 * goal_ - at;
    }

    std::size_t goal_;
    std::optional<std::size_t> distance_;  // at the last look
    bool stays_ = false;
};

}  // namespace holdfast::fallback
