// A violation that a checker has found.
#pragma once

#include "chaos/history/event.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::chaos {

struct violation {
    std::string_view rule;  // "two_holders"
    std::string text;       // a sentence
    std::uint16_t lock = 0;
    std::vector<std::uint64_t> holds;  // the holds concerned
    time_ns at = 0;                    // when it happened
};

// Describes it with its context: the holds from their start, other events of the lock, the faults.
[[nodiscard]] std::string report(const violation& v, const history& h);

}  // namespace holdfast::chaos
