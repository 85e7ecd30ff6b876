// What the numbers of a round mean.
#pragma once

#include "cli/demo/plan.hpp"
#include "cli/demo/round.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::cli::demo {

[[nodiscard]] std::string name_of(protection guard, demo_kind kind);

// Items that were sold and never existed.
[[nodiscard]] std::int64_t oversold(const round_result& round, const plan& what);
// Sales that the stock knows nothing of, because another request wrote over them.
[[nodiscard]] std::int64_t lost_updates(const round_result& round, const plan& what);

[[nodiscard]] bool went_wrong(const round_result& round, const plan& what);
// Every item sold once, everybody else refused, one rebuild.
[[nodiscard]] bool exact(const round_result& round, const plan& what);

// What happened and why, for people: sentences.
[[nodiscard]] std::string explained(const round_result& round, const plan& what);

// What is not as it should be: rounds without a shared lock go wrong, the one with it is exact. Sentences
// without a full stop; none if the demo shows what it promises.
[[nodiscard]] std::vector<std::string> disappointments(const std::vector<round_result>& rounds,
                                                       const plan& what);

// 100000 as "100,000".
[[nodiscard]] std::string grouped(std::int64_t n);

}  // namespace holdfast::cli::demo
