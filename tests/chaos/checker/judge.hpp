// Applies all rules to a whole history.
#pragma once

#include "chaos/checker/models.hpp"

#include <chrono>
#include <map>

namespace holdfast::chaos {

struct judgement_settings {
    time_ns served_within = in_ns(std::chrono::seconds{10});  // in a time of calm
    presence others;
    // By lock: the greatest fence of the histories before this one.
    std::map<std::uint16_t, std::uint64_t> fences_before;
};

[[nodiscard]] violations judge(const history& h, const judgement_settings& how = {});

// Counts what best-effort locks did that would be a violation of another lock.
[[nodiscard]] std::size_t count_unpromised(const history& h);

// Counts the answers of latches that were not judged because too many uses had no answer.
[[nodiscard]] std::size_t count_unjudged(const history& h);

struct tally {
    std::size_t events = 0;
    std::size_t operations = 0;  // that were answered
    std::size_t granted = 0;
    std::size_t refused = 0;
    std::size_t failed = 0;
    std::size_t overrun = 0;      // holders that found their lease over
    std::size_t let_through = 0;  // by a latch
    std::size_t writes_accepted = 0;
    std::size_t writes_refused = 0;  // by the resource, because of their fence

    tally& operator+=(const tally& other);
};
[[nodiscard]] tally count(const history& h);

// Adds the greatest fence of each lock, for the history that follows this one.
void remember_fences(const history& h, std::map<std::uint16_t, std::uint64_t>& fences);

}  // namespace holdfast::chaos
