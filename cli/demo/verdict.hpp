// What the numbers of a round mean.
#pragma once

#include "cli/demo/plan.hpp"
#include "cli/demo/round.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli::demo {

[[nodiscard]] std::string name_of(protection guard, demo_kind kind);

// "in Redis".
[[nodiscard]] std::string_view place_of(demo_store on);

// Items that were sold and never existed.
[[nodiscard]] std::int64_t oversold(const round_result& round, const plan& what);
// Sales that are missing in the stock, because another request overwrote them.
[[nodiscard]] std::int64_t lost_updates(const round_result& round, const plan& what);

[[nodiscard]] bool went_wrong(const round_result& round, const plan& what);
// Every item is sold once, all other requests are refused, and the cache is rebuilt once.
[[nodiscard]] bool exact(const round_result& round, const plan& what);

// What happened and why, in sentences for people.
[[nodiscard]] std::string explained(const round_result& round, const plan& what);

// How the rounds differ from what is expected: rounds without a shared lock go wrong, and the one with it is
// exact. Sentences without a full stop; none if all is as expected.
[[nodiscard]] std::vector<std::string> deviations(const std::vector<round_result>& rounds, const plan& what);

// 100000 as "100,000".
[[nodiscard]] std::string grouped(std::int64_t n);

}  // namespace holdfast::cli::demo
