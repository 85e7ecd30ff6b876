#include "lab/timeline.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace holdfast::lab {

namespace {

// From times to cells: within each step in proportion.
class axis {
  public:
    axis(const std::vector<column>& columns, instant end, std::size_t width) : width_(width) {
        for (const auto& one : columns) edges_.push_back(one.from);
        edges_.push_back(std::max(end, edges_.back() + instant{1}));
    }

    [[nodiscard]] std::size_t cells() const { return (edges_.size() - 1) * width_; }

    [[nodiscard]] double place_of(instant at) const {
        const auto inside = std::clamp(at, edges_.front(), edges_.back());
        auto next = std::upper_bound(std::next(edges_.begin()), std::prev(edges_.end()), inside);
        const auto from = *std::prev(next);
        const auto whole = std::max<instant>(*next - from, instant{1});
        const auto step = static_cast<double>(std::distance(edges_.begin(), std::prev(next)));
        const auto share = static_cast<double>((inside - from).count()) / static_cast<double>(whole.count());
        return (step + std::min(share, 1.0)) * static_cast<double>(width_);
    }

    // The cells of a span: [first, second).
    [[nodiscard]] std::pair<std::size_t, std::size_t> cells_of(instant from, instant to) const {
        const auto first = std::min(static_cast<std::size_t>(place_of(from)), cells() - 1);
        const auto last = static_cast<std::size_t>(place_of(to));
        return {first, std::max(last, first + 1)};
    }

  private:
    std::vector<instant> edges_;
    std::size_t width_;
};

}  // namespace

timeline drawn(const record& of, std::size_t width) {
    timeline made;
    made.width = width;
    std::set<std::string> names;
    for (const auto& seen : of.events) {
        if (seen.kind == event_kind::step) {
            made.columns.push_back({static_cast<int>(made.columns.size()) + 1, seen.at, seen.text});
        } else if (!seen.who.empty()) {
            names.insert(seen.who);
        }
    }
    if (made.columns.empty()) made.columns.push_back({1, instant{}, {}});
    const axis along{made.columns, of.end, width};

    for (const auto& name : names) made.beliefs.push_back({name, std::vector<cell>(along.cells()), {}});
    const auto fill = [&](const std::string& who, instant from, instant to, cell with) {
        const auto lane = std::ranges::find(made.beliefs, who, &lab::lane::who);
        if (lane == made.beliefs.end()) return;
        const auto [first, last] = along.cells_of(from, to);
        std::fill(lane->cells.begin() + static_cast<std::ptrdiff_t>(first),
                  lane->cells.begin() + static_cast<std::ptrdiff_t>(last), with);
    };
    for (const auto& one : of.beliefs) fill(one.who, one.from, one.to, cell::alone);
    for (const auto& both : overlaps(of)) {
        fill(both.first, both.from, both.to, cell::beside);
        fill(both.second, both.from, both.to, cell::beside);
    }

    made.key = {{}, std::vector<cell>(along.cells()), std::vector<std::string>(along.cells())};
    for (const auto& one : of.owners) {
        const auto [first, last] = along.cells_of(one.from, one.to);
        for (auto i = first; i < last; ++i) {
            made.key.cells[i] = cell::alone;
            made.key.owner[i] = one.who;
        }
    }
    return made;
}

}  // namespace holdfast::lab
