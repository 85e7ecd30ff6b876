// What was played, and with what result.
#pragma once

#include "lab/ladder.hpp"
#include "lab/trial.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::lab {

// A schedule on one of its schemes.
struct tally {
    casting cast;
    int runs = 0;
    int as_predicted = 0;
    outcome shown;  // the first run, or the first that did not go as predicted

    [[nodiscard]] bool good() const { return as_predicted == runs; }
};

struct schedule_results {
    const schedule* played;
    std::vector<tally> plays;
};

struct rung_results {
    const rung* of;
    std::vector<schedule_results> schedules;
};

using results = std::vector<rung_results>;

// Calls `what` for each play, with its rung, its schedule and its tally.
void for_each_play(const results& all, auto what) {
    for (const auto& rung : all) {
        for (const auto& schedule : rung.schedules) {
            for (const auto& play : schedule.plays) what(*rung.of, *schedule.played, play);
        }
    }
}

[[nodiscard]] inline bool all_good(const results& all) {
    bool good = true;
    for_each_play(all, [&](const rung&, const schedule&, const tally& one) { good = good && one.good(); });
    return good;
}

}  // namespace holdfast::lab
