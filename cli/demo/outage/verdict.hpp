// What the numbers of `holdfast demo outage` mean.
#pragma once

#include "cli/demo/outage/round.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::cli::demo::outage {

// Sales that are missing in the stock or were of nothing: 0 if the books are right.
[[nodiscard]] std::int64_t wrong_sales(const outage_round& round, const outage_plan& what);
// How many requests were served while Redis was away, of those that came then; 0 to 100.
[[nodiscard]] int percent_in_outage(const outage_round& round);

// What happened and why, in sentences for people.
[[nodiscard]] std::string explained(const outage_round& round, const outage_plan& what);

// How the rounds differ from what is expected. Sentences without a full stop; none if all is as expected.
[[nodiscard]] std::vector<std::string> deviations(const std::vector<outage_round>& rounds,
                                                  const outage_plan& what);

}  // namespace holdfast::cli::demo::outage
