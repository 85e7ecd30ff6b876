// Which level a group should use, by what its hosts report. A host is one vote: a broken process, or a host
// that has lost its network, does not move the locks of all others.
//
//   the level in use is down for most hosts     --> the most preferred level that is not
//   a more preferred level, and those between, are up for all hosts
//                                               --> that one, after `healthy_for`; twice as long for each
//                                                   time it was left in the last hour
//
// Not thread-safe; reads no clock.
#pragma once

#include "backends/joint/health.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::joint_backend {

// The author of automatic changes, in the history of the mode.
inline constexpr std::string_view automatic_author = "automatic";

class automatic_rule {
  public:
    automatic_rule(std::size_t levels, milliseconds healthy_for)
        : healthy_for_(healthy_for), up_since_(levels) {}

    struct goal {
        std::size_t level;
        std::string reason;  // for people
    };
    // `wall`: milliseconds since 1970, for the history. Empty: the mode is right.
    [[nodiscard]] std::optional<goal> decide(const mode_record& mode, const health_reports& live,
                                             time_point now, std::int64_t wall);

    // Nobody has looked at the reports for a while.
    void forget() { up_since_.assign(up_since_.size(), std::nullopt); }

    [[nodiscard]] milliseconds must_be_healthy_for(std::size_t level, const mode_record& mode,
                                                   std::int64_t wall) const;

  private:
    const milliseconds healthy_for_;
    std::vector<std::optional<time_point>> up_since_;  // for all hosts
};

}  // namespace holdfast::joint_backend
