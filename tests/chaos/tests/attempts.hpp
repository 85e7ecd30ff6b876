// Attempts at a lock for examples, and the rules that they break.
#pragma once

#include "chaos/checker/judge.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::chaos {

// A hold that was granted at `from` and released at `to`.
inline attempt holding(std::uint64_t id, time_ns from, time_ns to, std::uint32_t process = 1) {
    attempt a;
    a.id = id;
    a.process = process;
    a.asked = from - 1;
    a.answered = from;
    a.answer = phase::ok;
    a.believed = to + 100;
    a.release_begun = to;
    a.release_answered = to + 1;
    a.release = phase::ok;
    return a;
}

// An attempt that did not wait, and that the store refused.
inline attempt refused(std::uint64_t id, time_ns from, time_ns to, std::uint32_t process = 1) {
    attempt a;
    a.id = id;
    a.process = process;
    a.asked = from;
    a.answered = to;
    a.answer = phase::busy;
    a.wait = 0;
    return a;
}

using rule_names = std::vector<std::string>;

// Those that were broken.
inline rule_names rules(const violations& found) {
    rule_names all;
    for (const auto& v : found) all.emplace_back(v.rule);
    return all;
}

}  // namespace holdfast::chaos
