// Small random histories of a latch, and a judge that tries every order.
#pragma once

#include "chaos/checker/latch_use.hpp"
#include "chaos/runner/dice.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::chaos {

// A latch that is as simple as can be.
struct real_latch {
    std::int64_t count = 0;

    struct outcome {
        phase answer;
        std::int64_t left = 0;
    };
    outcome use(action what, std::int64_t amount) {
        const bool zero = count == 0;
        switch (what) {
            case action::set:
                if (zero) count = amount;
                return {zero ? phase::ok : phase::busy};
            case action::down: count = count < amount ? 0 : count - amount; return {phase::ok, count};
            case action::erase: count = 0; return {zero ? phase::busy : phase::ok};
            case action::read: return {phase::ok, count};
            default: return {zero ? phase::ok : phase::busy};
        }
    }
};

// The events that clients would have recorded.
inline std::vector<event> events_of(const std::vector<latch_use>& uses) {
    std::vector<event> all;
    for (const auto& u : uses) {
        event e;
        e.hold = u.id;
        e.action = u.what;
        e.count = u.amount;
        e.wait = u.wait;
        e.phase = phase::invoke;
        e.t = u.asked;
        all.push_back(e);
        if (u.answer == phase::none) continue;
        e.count = u.reported;
        e.phase = u.answer;
        e.t = u.answered;
        all.push_back(e);
    }
    std::stable_sort(all.begin(), all.end(), [](const event& a, const event& b) { return a.t < b.t; });
    return all;
}

struct latch_history {
    std::vector<event> events;
    std::vector<span_of_time> forgetting;
};

class latch_history_maker {
  public:
    explicit latch_history_maker(std::uint64_t seed) : chance_(seed) {}

    // The history of a correct latch.
    latch_history valid() { return valid(static_cast<std::size_t>(3 + chance_.below(7))); }
    latch_history valid(std::size_t uses) {
        uses_.clear();
        forgetting_.clear();
        time_ns now = 10;
        real_latch latch;
        for (auto n = uses; n > 0; --n) {
            now += number(4);
            if (chance_.percent(6)) {
                forgetting_.push_back({now, now + number(2)});
                now = forgetting_.back().to + 1;
                latch.count = number(3);
            }
            use(now, latch);
        }
        return settle();
    }

    // A valid history with something changed, which may be a violation or not.
    latch_history corrupted() {
        (void)valid();
        for (auto n = 1 + chance_.below(2); n > 0; --n) {
            auto& u = uses_[chance_.below(uses_.size())];
            switch (chance_.below(7)) {
                case 0: u.reported += number(2) - 1; break;
                case 1: u.amount = 1 + number(2); break;
                case 2:
                    if (u.has_answer()) u.answer = u.answer == phase::ok ? phase::busy : phase::ok;
                    break;
                case 3: u.asked += number(6); break;
                case 4:
                    if (u.answered != never) u.answered -= number(6);
                    break;
                case 5: u.answer = phase::info; break;
                default: std::swap(u.reported, uses_[chance_.below(uses_.size())].reported); break;
            }
        }
        return settle();
    }

  private:
    [[nodiscard]] time_ns number(time_ns most) {
        return static_cast<time_ns>(chance_.below(static_cast<std::uint64_t>(most) + 1));
    }

    // Takes effect at `now`, which no client knows.
    void use(time_ns now, real_latch& latch) {
        static constexpr action all[] = {action::set,   action::set,  action::down,
                                         action::down,  action::down, action::read,
                                         action::erase, action::wait, action::wait};
        latch_use u;
        u.id = uses_.size() + 1;
        u.what = all[chance_.below(std::size(all))];
        u.amount = 1 + number(2);
        u.asked = now - number(5);
        u.answered = now + number(5);
        const auto before = latch;
        const auto outcome = latch.use(u.what, u.amount);
        const bool lost = chance_.percent(8);
        if (lost) latch = before;
        if (lost || chance_.percent(12)) {  // no client got the answer
            if (chance_.percent(50)) u.answered = never;
            u.answer = u.answered == never           ? phase::none
                       : lost && chance_.percent(50) ? phase::fail
                                                     : phase::info;
        } else {
            u.answer = outcome.answer;
            u.reported = outcome.left;
        }
        uses_.push_back(u);
    }

    latch_history settle() {
        for (auto& u : uses_) {
            const bool counts = u.what == action::down || u.what == action::read;
            if (counts && u.answer == phase::busy) u.answer = phase::ok;
            u.reported = counts ? std::max<std::int64_t>(u.reported, 0) : 0;
            u.answered = std::max(u.answered, u.asked);
        }
        return {events_of(uses_), forgetting_};
    }

    dice chance_;
    std::vector<latch_use> uses_;
    std::vector<span_of_time> forgetting_;
};

class latch_brute_force {
  public:
    explicit latch_brute_force(const latch_history& h) {
        for (const auto& u : uses_of(h.events, h.forgetting)) {
            if (u.has_answer() || u.what != action::wait)
                steps_.push_back({u.asked, u.has_answer() ? u.answered : never, u});
            most_ = std::max(most_, u.amount + u.reported);
        }
        for (const auto& f : h.forgetting) steps_.push_back({f.to, f.to, std::nullopt});
    }

    [[nodiscard]] bool explainable() { return explain(0, 0); }

  private:
    struct step {
        time_ns earliest;
        time_ns latest;  // never: it need not take effect
        std::optional<latch_use> use;
    };

    bool explain(std::uint64_t done, std::int64_t count) {
        time_ns first_limit = never;
        for (std::size_t s = 0; s < steps_.size(); ++s) {
            if ((done >> s & 1U) == 0) first_limit = std::min(first_limit, steps_[s].latest);
        }
        if (first_limit == never) return true;
        if (!dead_ends_.emplace(done, count).second) return false;
        for (std::size_t s = 0; s < steps_.size(); ++s) {
            if ((done >> s & 1U) != 0 || steps_[s].earliest > first_limit) continue;
            for (const auto next : after(steps_[s], count)) {
                if (explain(done | std::uint64_t{1} << s, next)) return true;
            }
        }
        return false;
    }

    [[nodiscard]] std::vector<std::int64_t> after(const step& s, std::int64_t count) const {
        std::vector<std::int64_t> all;
        if (!s.use) {
            for (std::int64_t any = 0; any <= most_; ++any) all.push_back(any);
            return all;
        }
        real_latch latch{count};
        const auto outcome = latch.use(s.use->what, s.use->amount);
        const bool gave_up = s.use->what == action::wait && s.use->answer == phase::busy;
        if (!s.use->has_answer() || gave_up ||
            (outcome.answer == s.use->answer && outcome.left == s.use->reported))
            all.push_back(latch.count);
        return all;
    }

    std::vector<step> steps_;
    std::int64_t most_ = 0;
    std::set<std::pair<std::uint64_t, std::int64_t>> dead_ends_;
};

}  // namespace holdfast::chaos
