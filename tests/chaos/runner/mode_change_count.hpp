// Counts the changes of the mode of a run, and what clients were granted in each.
#pragma once

#include "chaos/history/event.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace holdfast::chaos {

class mode_change_count {
  public:
    // `wanted` of 0: a run that does not count them.
    explicit mode_change_count(std::size_t wanted) : wanted_(wanted) {}

    // Adds a round. `all` are the changes of the whole run. A client that was there for longer than `patient`
    // is to be granted something.
    void add(const history& round, std::span<const span_of_time> all, time_ns patient);

    [[nodiscard]] bool is_reached(std::size_t changes) const noexcept {
        return wanted_ > 0 && changes >= wanted_;
    }
    // `epoch`: how often the arbiter has changed the mode, and one.
    [[nodiscard]] std::vector<std::string> complaints(std::uint64_t epoch) const;
    // "50 changes of the mode, 212 to 1023 grants in each".
    [[nodiscard]] std::string summary() const;

  private:
    const std::size_t wanted_;
    std::vector<std::size_t> grants_;  // of each change
    std::vector<std::uint32_t> starved_;
};

}  // namespace holdfast::chaos
