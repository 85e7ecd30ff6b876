#include "chaos/checker/models.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace holdfast::chaos {

namespace {

struct process_hold {
    time_ns until = long_ago;     // a thread of this process may have had the deleted lease
    time_ns promised = long_ago;  // its latest deadline
};

// The holds that may have lost their key by one deletion.
class affected_holds {
  public:
    explicit affected_holds(const span_of_time& when) : when_(when) {}

    // Call it in the order of the requests.
    [[nodiscard]] bool contains(const attempt& a) {
        if (!a.held() || !(direct(a) || nested_.contains(a.outer) || inherits(a))) return false;
        nested_.insert(a.id);
        auto& t = of_process_[a.process];
        t.until = std::max(t.until, std::min(a.release_answered, a.believed));
        t.promised = std::max(t.promised, a.promised);
        return true;
    }

  private:
    [[nodiscard]] bool direct(const attempt& a) const {
        return a.asked <= when_.to && a.release_answered >= when_.from;
    }
    // A lease passes from thread to thread without the store, with the same deadline.
    [[nodiscard]] bool inherits(const attempt& a) const {
        const auto t = of_process_.find(a.process);
        return t != of_process_.end() && a.asked <= t->second.until && a.promised <= t->second.promised;
    }

    span_of_time when_;
    std::unordered_set<std::uint64_t> nested_;
    std::unordered_map<std::uint32_t, process_hold> of_process_;
};

struct sighting {
    time_ns t;
    time_ns deadline;
};
using sightings = std::unordered_map<std::uint64_t, std::vector<sighting>>;  // by hold

sightings deadlines_of(std::span<const event> events) {
    sightings all;
    for (const auto& e : events) {
        if (e.phase == phase::ok && e.deadline != 0) all[e.hold].push_back({e.t, e.deadline});
    }
    return all;
}

// Only a request sent before the key was deleted can have made the lease longer.
void check_revival(const attempt& a, const std::vector<sighting>& seen, const span_of_time& when,
                   violations& found) {
    if (a.answered >= when.from) return;
    time_ns limit = when.to + a.lease;
    for (const auto& s : seen) {
        if (s.t < when.from) limit = std::max(limit, s.deadline);
    }
    const auto revived =
        std::find_if(seen.begin(), seen.end(), [&](const sighting& s) { return s.deadline > limit; });
    if (revived != seen.end())
        found.push_back({"revived",
                         "a lease was renewed " + relative(revived->deadline - limit, 0) +
                             " beyond what it can have been when its key was deleted",
                         a.lock,
                         {a.id},
                         revived->t});
}

}  // namespace

violations check_strikes(std::vector<attempt>& attempts, std::span<const event> events,
                         std::span<const span_of_time> strikes) {
    violations found;
    if (strikes.empty()) return found;
    const auto seen = deadlines_of(events);
    std::unordered_set<std::uint64_t> once;
    for (const auto& when : strikes) {
        affected_holds affected{when};
        for (auto& a : attempts) {
            if (!affected.contains(a)) continue;
            if (const auto s = seen.find(a.id); s != seen.end() && once.insert(a.id).second)
                check_revival(a, s->second, when, found);
            end_firm_part(a, when.from);
            a.lost = never;
        }
    }
    return found;
}

}  // namespace holdfast::chaos
