// Times at which a lock is held.
#pragma once

#include "chaos/history/event.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::chaos {

class occupied_times {
  public:
    // In the order of `from`; from < to.
    void add(time_ns from, time_ns to) {
        // Spans that only touch stay apart: one ends, then the other begins.
        if (!spans_.empty() && from < spans_.back().to)
            spans_.back().to = std::max(spans_.back().to, to);
        else
            spans_.push_back({from, to});
    }
    // The lock is held just before this moment and just after it.
    [[nodiscard]] bool covers(time_ns t) const {
        const auto after = std::lower_bound(spans_.begin(), spans_.end(), t,
                                            [](const span_of_time& s, time_ns x) { return s.from < x; });
        return after != spans_.begin() && std::prev(after)->to > t;
    }

  private:
    std::vector<span_of_time> spans_;
};

}  // namespace holdfast::chaos
