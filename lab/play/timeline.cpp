#include "lab/play/timeline.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::lab {

namespace {

// The moments at which something changes, in order.
class axis {
  public:
    explicit axis(const record& of) {
        for (const auto& seen : of.events) {
            if (seen.kind == event_kind::step) edges_[seen.at] = {};
        }
        if (edges_.empty()) edges_[instant{}] = {};
        const auto first = edges_.begin()->first;
        const auto last_step = edges_.rbegin()->first;
        for (const auto* const spans : {&of.beliefs, &of.waits, &of.stills, &of.deaths}) {
            for (const auto& one : *spans) edges_[one.from] = edges_[one.to] = {};
        }
        for (const auto& place : of.places) {
            for (const auto& one : place.owners) {
                edges_[one.from] = {};
                edges_.try_emplace(one.to, one.who);
            }
        }
        // What happened before the first step belongs to it, and each step has at least one unit.
        edges_.erase(edges_.begin(), edges_.find(first));
        edges_[std::max(of.end, last_step + instant{1})] = {};
        leave_together();
        for (const auto& [at, leaves] : edges_) moments_.push_back(at);
    }

    [[nodiscard]] std::size_t units() const { return moments_.size() - 1; }
    [[nodiscard]] std::size_t unit_of(instant at) const {
        const auto found = std::ranges::lower_bound(moments_, std::min(at, moments_.back()));
        return static_cast<std::size_t>(std::distance(moments_.begin(), found));
    }
    [[nodiscard]] stretch units_of(const span& one, bool contested = false) const {
        return {unit_of(one.from), unit_of(one.to), one.who, contested};
    }

  private:
    // When an owner loses several places in a row, with nothing between, their order is chance.
    void leave_together() {
        for (auto one = edges_.begin(); std::next(one) != edges_.end();) {
            const bool same = !one->second.empty() && one->second == std::next(one)->second;
            one = same ? edges_.erase(one) : std::next(one);
        }
    }

    std::map<instant, std::string> edges_;  // and the owner that loses a place then, if nothing else happens
    std::vector<instant> moments_;
};

void put(lane& into, const stretch& one) {
    if (one.from < one.to) into.stretches.push_back(one);
}

// A belief, cut where another begins or ends.
void put_belief(lane& into, const axis& along, const span& belief, const std::vector<overlap>& overlaps) {
    auto left = along.units_of(belief);
    for (const auto& both : overlaps) {
        if (both.first != belief.who && both.second != belief.who) continue;
        const auto with = along.units_of({belief.who, both.from, both.to}, true);
        if (with.from >= left.to || with.to <= left.from) continue;
        put(into, {left.from, with.from, belief.who, false});
        put(into, {std::max(with.from, left.from), with.to, belief.who, true});
        left.from = std::max(left.from, with.to);
    }
    put(into, left);
}

}  // namespace

timeline drawn(const record& of) {
    timeline made;
    const axis along{of};
    made.units = along.units();

    std::set<std::string> names;
    for (const auto& seen : of.events) {
        if (seen.kind == event_kind::step) {
            made.columns.push_back(
                {static_cast<int>(made.columns.size()) + 1, seen.text, seen.at, along.unit_of(seen.at), 0});
        } else if (!seen.who.empty()) {
            names.insert(seen.who);
        }
    }
    if (made.columns.empty()) made.columns.push_back({1, {}, {}, 0, 0});
    for (std::size_t i = 0; i < made.columns.size(); ++i) {
        const auto next = i + 1 < made.columns.size() ? made.columns[i + 1].first : made.units;
        made.columns[i].units = next - made.columns[i].first;
    }

    const auto both = overlaps(of);
    for (const auto& name : names) {
        lane one{name, {}, {}, {}, {}};
        for (const auto& belief : of.beliefs) {
            if (belief.who == name) put_belief(one, along, belief, both);
        }
        for (const auto& wait : of.waits) {
            if (wait.who == name) one.waits.push_back(along.units_of(wait));
        }
        for (const auto& death : of.deaths) {
            if (death.who == name) one.deaths.push_back(along.unit_of(death.from));
        }
        for (const auto& still : of.stills) {
            if (still.who == name) one.stills.push_back(along.units_of(still));
        }
        made.beliefs.push_back(std::move(one));
    }
    for (const auto& place : of.places) {
        lane one{place.name, {}, {}, {}, {}};
        for (const auto& owner : place.owners) put(one, along.units_of(owner));
        made.places.push_back(std::move(one));
    }
    return made;
}

}  // namespace holdfast::lab
