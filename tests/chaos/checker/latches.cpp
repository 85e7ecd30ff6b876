#include "chaos/checker/models.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace holdfast::chaos {

namespace {

// One possible state at a moment.
struct state {
    std::int64_t count = 0;
    std::uint64_t done = 0;               // uses under way that took effect: a bit for each
    std::vector<std::uint32_t> needed{};  // how many unanswered uses of each sort took effect

    [[nodiscard]] std::uint64_t cost() const {
        return std::accumulate(needed.begin(), needed.end(), std::uint64_t{0});
    }
};

// All possible states, over time. A use takes effect as late as possible: just before an answer that needs
// it. So nothing is tried between two answers.
class possibilities {
  public:
    explicit possibilities(std::int64_t most) : most_(most) {}

    void begins(const latch_use& u) {
        if (!u.has_answer()) {
            if (!u.changes_nothing()) ++sort_of(u).there;
            return;
        }
        const auto free = static_cast<std::size_t>(std::countr_one(taken_));
        if (free == places_.size())
            throw std::runtime_error{"too much is done to a latch at once to judge it"};
        places_[free] = &u;
        taken_ |= bit(free);
        if (u.changes_nothing()) looking_ |= bit(free);
        for (auto& s : all_) look(s);
    }

    // False: no possible state explains this answer. Also true if there was too much to try.
    [[nodiscard]] bool ends(const latch_use& u) {
        const auto place =
            static_cast<std::size_t>(std::find(places_.begin(), places_.end(), &u) - places_.begin());
        auto found = explain(bit(place));
        if (tried_ > most_tries) found = give_up();
        for (auto& s : found) s.done &= ~bit(place);
        places_[place] = nullptr;
        taken_ &= ~bit(place);
        looking_ &= ~bit(place);
        all_ = std::move(found);
        return !all_.empty();
    }

    // How often there was too much to try.
    [[nodiscard]] std::size_t unjudged() const noexcept { return unjudged_; }

    // Requires that no answered use is under way.
    void forgets() {
        const auto before = std::exchange(all_, {});
        seen_.clear();
        for (const auto& s : before) {
            for (std::int64_t count = 0; count <= most_; ++count) {
                auto any = s;
                any.count = count;
                if (is_new(any)) all_.push_back(std::move(any));
            }
        }
    }

  private:
    // Unanswered uses that do the same: it does not matter which of them took effect.
    struct sort {
        latch_use like;
        std::uint32_t there = 0;
    };

    static std::uint64_t bit(std::size_t n) { return std::uint64_t{1} << n; }

    sort& sort_of(const latch_use& u) {
        for (auto& s : sorts_) {
            if (s.like.what == u.what && s.like.amount == u.amount) return s;
        }
        for (auto& s : all_) s.needed.push_back(0);
        return sorts_.emplace_back(sort{u});
    }

    // Too many unanswered uses make too many states possible. Then all uses under way count as unanswered,
    // and the count may be any: fewer violations are found, and no false one.
    std::vector<state> give_up() {
        ++unjudged_;
        for (auto left = taken_ & ~looking_; left != 0; left &= left - 1)
            ++sort_of(*places_[static_cast<std::size_t>(std::countr_zero(left))]).there;
        std::vector<state> any;
        for (std::int64_t count = 0; count <= most_; ++count)
            any.push_back({count, taken_, std::vector<std::uint32_t>(sorts_.size())});
        return any;
    }

    // A request that changes nothing is answered as soon as it can be.
    void look(state& s) const {
        for (auto left = looking_ & ~s.done; left != 0; left &= left - 1) {
            const auto n = static_cast<std::size_t>(std::countr_zero(left));
            if (count_after(*places_[n], s.count)) s.done |= bit(n);
        }
    }

    // All possible states after the wanted uses, each with as few unanswered uses as needed.
    std::vector<state> explain(std::uint64_t wanted) {
        std::vector<state> found;
        std::multimap<std::uint64_t, state> to_try;  // the cheapest comes first: it makes others needless
        seen_.clear();
        tried_ = 0;
        const auto add = [&](state s) {
            look(s);
            if (is_new(s)) to_try.emplace(s.cost(), std::move(s));
        };
        for (auto& s : all_) add(std::move(s));
        while (!to_try.empty() && ++tried_ <= most_tries) {
            const auto s = std::move(to_try.extract(to_try.begin()).mapped());
            if ((s.done & wanted) != 0) {
                found.push_back(s);
                continue;
            }
            for (auto left = taken_ & ~looking_ & ~s.done; left != 0; left &= left - 1) {
                const auto n = static_cast<std::size_t>(std::countr_zero(left));
                if (const auto count = count_after(*places_[n], s.count))
                    add({*count, s.done | bit(n), s.needed});
            }
            for (std::size_t k = 0; k < sorts_.size(); ++k) {
                const auto count = count_after(sorts_[k].like, s.count);
                if (s.needed[k] == sorts_[k].there || *count == s.count) continue;
                auto next = s;
                next.count = *count;
                ++next.needed[k];
                add(std::move(next));
            }
        }
        return found;
    }

    // False: a known state with the same count has needed no more and has done no less.
    bool is_new(const state& s) {
        auto& like = seen_[{s.count, s.done & ~looking_}];
        const bool covered = std::any_of(like.begin(), like.end(), [&](const state& other) {
            return (s.done & ~other.done) == 0 &&
                   std::equal(s.needed.begin(), s.needed.end(), other.needed.begin(),
                              [](std::uint32_t mine, std::uint32_t others) { return others <= mine; });
        });
        if (!covered) like.push_back(s);
        return !covered;
    }

    // A few hundred are needed where a third of all uses have no answer.
    static constexpr std::size_t most_tries = 1'000;

    const std::int64_t most_;
    std::size_t tried_ = 0;
    std::size_t unjudged_ = 0;
    std::array<const latch_use*, 64> places_{};
    std::uint64_t taken_ = 0;    // places of answered uses under way
    std::uint64_t looking_ = 0;  // those of them that change nothing
    std::vector<sort> sorts_;    // of unanswered uses
    std::vector<state> all_{state{}};
    std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<state>> seen_;
};

violation unexplained(const latch_use& u) {
    if (u.what == action::wait)
        return {"through_early",
                "a waiter was let through, and at no moment of its wait can the count have been zero",
                u.lock,
                {u.id},
                u.answered};
    return {"miscounted", "no order of the uses explains this answer", u.lock, {u.id}, u.answered};
}

}  // namespace

violations check_counts(std::span<const latch_use> uses, std::span<const span_of_time> forgetting,
                        std::size_t* unjudged) {
    struct step {
        time_ns t;
        int order;  // begins before ends: uses that touch overlap
        const latch_use* of;
    };
    std::vector<step> steps;
    std::int64_t most = 1;  // the greatest count that matters
    for (const auto& u : uses) {
        // The count that the use found. A use that left zero may have found zero.
        if (u.what == action::set || u.reported > 0) most = std::max(most, u.amount + u.reported);
        steps.push_back({u.asked, 0, &u});
        if (u.has_answer()) steps.push_back({u.answered, 1, &u});
    }
    for (const auto& f : forgetting) steps.push_back({f.to, 2, nullptr});
    std::stable_sort(steps.begin(), steps.end(), [](const step& a, const step& b) {
        return std::pair{a.t, a.order} < std::pair{b.t, b.order};
    });
    possibilities may_be{most};
    for (const auto& s : steps) {
        if (s.of == nullptr)
            may_be.forgets();
        else if (s.order == 0)
            may_be.begins(*s.of);
        else if (!may_be.ends(*s.of))
            return {unexplained(*s.of)};
    }
    if (unjudged != nullptr) *unjudged += may_be.unjudged();
    return {};
}

}  // namespace holdfast::chaos
