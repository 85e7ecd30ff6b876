#include "backends/joint/automatic_rule.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace holdfast::joint_backend {

namespace {

constexpr std::int64_t flapping_counts_for = 3'600'000;  // milliseconds
constexpr int most_doublings = 4;                        // the history has no more departures

std::size_t count_down(const health_reports& live, std::size_t level) {
    return static_cast<std::size_t>(std::ranges::count_if(
        live, [&](const auto& r) { return std::ranges::find(r.down, level) != r.down.end(); }));
}

std::string on_hosts(std::size_t of, std::size_t all) {
    return std::to_string(of) + " of " + std::to_string(all) + (all == 1 ? " host" : " hosts");
}

}  // namespace

milliseconds automatic_rule::must_be_healthy_for(std::size_t level, const mode_record& mode,
                                                 std::int64_t wall) const {
    int left = 0;
    for (std::size_t k = 0; k < mode.history.size(); ++k) {
        const auto& c = mode.history[k];
        const bool counts =
            c.author.by == automatic_author && c.needed.size() == 2 && c.at > wall - flapping_counts_for;
        // On the way back it has failed again, and the group returned to the other one.
        const bool failed_again = counts && c.needed.back() == level && k + 1 < mode.history.size() &&
                                  mode.history[k + 1].needed == needed_levels{c.needed.front()};
        left += counts && (c.needed.front() == level || failed_again);
    }
    return healthy_for_ * (1 << std::clamp(left - 1, 0, most_doublings));
}

std::optional<automatic_rule::goal> automatic_rule::decide(const mode_record& mode,
                                                           const health_reports& live, time_point now,
                                                           std::int64_t wall) {
    const auto hosts = live.size();
    for (std::size_t i = 0; i < up_since_.size(); ++i) {
        if (hosts == 0 || count_down(live, i) > 0)
            up_since_[i].reset();
        else if (!up_since_[i])
            up_since_[i] = now;
    }
    if (hosts == 0) return std::nullopt;
    const auto is_down = [&](std::size_t level) { return 2 * count_down(live, level) > hosts; };
    const auto without = [&](std::size_t level, std::size_t to) {
        return goal{to, "level " + std::to_string(level + 1) + " is down for " +
                            on_hosts(count_down(live, level), hosts)};
    };

    const auto instead_of = [&](std::size_t level) -> std::optional<goal> {
        for (std::size_t i = 0; i < up_since_.size(); ++i)
            if (!is_down(i)) return without(level, i);
        return std::nullopt;
    };
    if (mode.is_joint()) {
        // The first one is the level that the group leaves. It goes on to the second one, unless that fails.
        // From two that an operator has let stay it goes to the preferred one.
        const auto from = mode.needed.front();
        const auto to = mode.needed.back();
        if (is_down(to)) return is_down(from) ? instead_of(to) : without(to, from);
        if (is_down(from)) return without(from, to);
        return goal{mode.settled ? std::min(from, to) : to, "both levels are up"};
    }
    const auto used = mode.needed.front();
    if (is_down(used)) return instead_of(used);
    // Each step needs both of its levels.
    std::optional<goal> better;
    for (std::size_t i = used; i-- > 0;) {
        const auto needs = must_be_healthy_for(i, mode, wall);
        if (!up_since_[i] || now - *up_since_[i] < needs) break;
        better = goal{i, "level " + std::to_string(i + 1) + " is up on " + on_hosts(hosts, hosts) + " for " +
                             base::to_text(needs)};
    }
    return better;
}

}  // namespace holdfast::joint_backend
