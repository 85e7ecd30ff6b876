// How far the clocks of two levels are apart, as one client measures them. Fences follow those clocks: a
// level whose clock is behind that of the level before by more than joint_config::max_skew could grant lower
// fences.
#pragma once

#include "store/server_clock.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::joint_backend {

using readings = std::vector<backend::clock_reading>;  // one for each server of a level

struct skew {
    std::chrono::microseconds apart{0};  // positive: the second level is ahead
    std::chrono::microseconds error{0};  // the true value is not further away

    [[nodiscard]] bool surely_exceeds(std::chrono::milliseconds most) const {
        return std::chrono::abs(apart) - error > most;
    }
    [[nodiscard]] bool may_exceed(std::chrono::milliseconds most) const {
        return std::chrono::abs(apart) + error > most;
    }
};

// Of those servers that are surely furthest apart.
[[nodiscard]] skew skew_between(const readings& first, const readings& second);

// "the clock of A is 3s200ms ahead of that of B, give or take 1ms, and max_skew is 1s"
[[nodiscard]] std::string in_words(const skew& of, const std::string& first, const std::string& second,
                                   std::chrono::milliseconds max_skew);

}  // namespace holdfast::joint_backend
