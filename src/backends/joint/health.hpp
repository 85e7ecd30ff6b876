// What clients of a group see of its levels: reports in a register of the arbiter, one for each host. A
// report counts up while its client lives, so that readers need no common clock.
#pragma once

#include "backends/joint/mode.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::joint_backend {

struct health_report {
    std::string client;
    std::string host;
    std::uint64_t count = 0;
    needed_levels down;  // the levels that it cannot use
};

using health_reports = std::vector<health_report>;

// Enough for a majority that no single host decides, and few enough for any arbiter.
inline constexpr std::size_t most_reporters = 5;

// The text of the register. parse_health(): empty if it is none.
[[nodiscard]] std::string to_text(const health_reports&);
[[nodiscard]] std::optional<health_reports> parse_health(std::string_view text, std::size_t levels);

// The reports as one client reads them. Not thread-safe; reads no clock.
class health {
  public:
    // A report that does not count up for so long is of a client that has ended.
    explicit health(milliseconds stale_after) : stale_after_(stale_after) {}

    void take(health_reports now_there, time_point now);
    // Those that are not stale. Empty: of one that was there at the first look it is not known yet whether
    // its client lives.
    [[nodiscard]] std::optional<health_reports> live(time_point now) const;
    // All with this client's report, and without those that are stale. Empty: others report for this host,
    // or are enough.
    [[nodiscard]] std::optional<health_reports> with(const health_report& own, time_point now) const;

  private:
    struct seen {
        std::uint64_t count;
        time_point since;
        bool is_known;  // to live, or to have lived since this client looks
    };
    [[nodiscard]] bool is_stale(const health_report& r, time_point now) const {
        return now - seen_.at(r.client).since >= stale_after_;
    }

    milliseconds stale_after_;
    bool has_looked_ = false;
    health_reports all_;
    std::map<std::string, seen> seen_;
};

}  // namespace holdfast::joint_backend
