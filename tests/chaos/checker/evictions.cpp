#include "chaos/checker/models.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace holdfast::chaos {

namespace {

// The latest look that found each hold valid. Its time was taken before the look.
std::unordered_map<std::uint64_t, time_ns> last_looks(std::span<const event> events) {
    std::unordered_map<std::uint64_t, time_ns> all;
    for (const auto& e : events) {
        if (e.action != action::look || e.phase != phase::ok) continue;
        auto& last = all.try_emplace(e.hold, long_ago).first->second;
        last = std::max(last, e.t);
    }
    return all;
}

}  // namespace

violations check_evictions(std::vector<attempt>& attempts, std::span<const event> events,
                           std::span<const fault> evictions) {
    violations found;
    if (evictions.empty()) return found;
    const auto looks = last_looks(events);
    for (const auto& f : evictions) {
        for (const auto& one : f.evicted) {
            std::unordered_set<std::uint64_t> taken;
            for (auto& a : attempts) {
                if (!a.held() || a.token != one.token) continue;
                // A hold inside another shares its lease, also if it began before the owner knew.
                const bool inside = a.outer != 0 && taken.contains(a.outer);
                // One that was granted later had lost a hand-over that it had not heard of, and went on
                // waiting.
                const bool waited = a.asked <= f.to;
                const bool before = waited && a.granted_from <= f.to;
                const auto seen = looks.find(a.id);
                const auto last = seen == looks.end() ? long_ago : seen->second;
                if (waited && !before && (a.lost != never || a.release_answered == never)) {
                    // The request to give up the lost grant may come after the new one, and end that. A
                    // killed process did not say so.
                    end_firm_part(a, a.lost != never ? a.lost : last);
                    a.lost = never;
                }
                if (!inside && !before) continue;
                taken.insert(a.id);
                const auto until = one.gave_up ? f.to : one.may_go_on == never ? never : f.to + one.may_go_on;
                if (last > until)
                    found.push_back(
                        {"evicted_believes",
                         one.gave_up
                             ? "a lease was valid after the eviction reported that its holder gave it up"
                             : "a lease was valid for longer than the eviction had reported",
                         a.lock,
                         {a.id},
                         last});
                end_firm_part(a, one.gave_up ? std::max(f.from, last) : f.from);
                a.lost = never;
            }
        }
    }
    return found;
}

}  // namespace holdfast::chaos
