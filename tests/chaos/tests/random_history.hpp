// Small random histories: of a correct lock, and with something changed afterwards.
#pragma once

#include "chaos/checker/attempt.hpp"
#include "chaos/runner/dice.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::chaos {

// The events that a client would have recorded.
inline std::vector<event> events_of(const std::vector<attempt>& attempts) {
    std::vector<event> all;
    for (const auto& a : attempts) {
        event e;
        e.hold = a.id;
        e.outer = a.outer;
        e.process = a.process;
        e.permits = a.permits;
        e.side = a.side;
        e.wait = a.wait;
        e.depth = a.depth;
        const auto add = [&](action what, phase p, time_ns t) {
            e.action = what;
            e.phase = p;
            e.t = t;
            all.push_back(e);
        };
        add(action::acquire, phase::invoke, a.asked);
        if (a.answer == phase::none) continue;
        e.fence = a.fence;
        e.token = a.token;
        e.deadline = a.held() ? a.believed : 0;
        add(action::acquire, a.answer, a.answered);
        e.deadline = 0;
        if (a.release_begun != never) add(action::release, phase::invoke, a.release_begun);
        if (a.release_answered != never) add(action::release, a.release, a.release_answered);
    }
    std::stable_sort(all.begin(), all.end(), [](const event& a, const event& b) { return a.t < b.t; });
    return all;
}

class history_maker {
  public:
    history_maker(std::uint64_t seed, const lock_row& lock) : chance_(seed), lock_(lock) {}

    // A few holds of a correct lock.
    std::vector<attempt> valid() {
        all_.clear();
        std::vector<time_ns> free_from(lock_.model == model::counted ? lock_.permits : 1, 10);
        const auto holds = 2 + below(7);
        time_ns readers_until = 0;
        for (std::size_t i = 0; i < holds; ++i) {
            attempt a;
            a.side = lock_.model != model::shared ? side::only
                     : chance_.percent(60)        ? side::reader
                                                  : side::writer;
            // The time of each real hold.
            time_ns& place = free_from[below(free_from.size())];
            time_ns from = place + number(4);
            const time_ns to = from + number(12);
            if (a.side == side::reader) {
                readers_until = std::max(readers_until, to);
                place = from;  // the next reader may come at any time
            } else {
                from = std::max(from, readers_until);
                place = std::max(from, to);
            }
            observe(a, from, std::max(from, to));
            if (lock_.model == model::reentrant) nest_in(all_.back());
        }
        return settle();
    }

    // A valid history with something changed, which may be a violation or not.
    std::vector<attempt> corrupted() {
        (void)valid();
        for (auto n = 1 + below(2); n > 0; --n) {
            auto& a = all_[below(all_.size())];
            switch (below(8)) {
                case 0: a.believed += number(10); break;
                case 1:
                    if (a.release_begun != never) a.release_begun += number(10);
                    break;
                case 2: a.answered -= number(6); break;
                case 3: a.asked -= number(6); break;
                case 4: a.fence = all_[below(all_.size())].fence; break;
                case 5:
                    a.depth = static_cast<std::uint16_t>(1 + below(3));
                    a.permits = static_cast<std::uint32_t>(1 + below(3));
                    break;
                case 6: std::swap(a.fence, all_[below(all_.size())].fence); break;
                default: a.asked += number(6); break;
            }
        }
        return settle();
    }

  private:
    [[nodiscard]] std::size_t below(std::size_t n) { return static_cast<std::size_t>(chance_.below(n)); }
    [[nodiscard]] time_ns number(time_ns most) {
        return static_cast<time_ns>(chance_.below(static_cast<std::uint64_t>(most) + 1));
    }

    void observe(attempt a, time_ns from, time_ns to) {
        a.id = all_.size() + 1;
        a.process = static_cast<std::uint32_t>(1 + below(3));
        a.fence = ++fence_;
        a.token = fence_;
        a.answer = phase::ok;
        a.asked = from - number(5);
        a.answered = from + number(5);
        if (chance_.percent(70)) {  // released
            a.answered = std::min(a.answered, to);
            a.release_begun = std::max(a.answered, to - number(5));
            a.release_answered = to + number(5);
            a.release = phase::ok;
            a.believed = to + number(5);
        } else {  // expired, perhaps before the answer
            a.believed = to;
            a.release_begun = chance_.percent(50) ? never : std::max(to, a.answered) + number(5);
            if (a.release_begun != never) a.release_answered = a.release_begun + number(3);
            if (a.release_answered != never) a.release = phase::fail;
        }
        all_.push_back(a);
    }
    // More holds of the same owner, one after another or inside of each other.
    void nest_in(const attempt& outermost) {
        const attempt root = outermost;
        if (root.release != phase::ok || root.release_begun - root.answered < 4 || chance_.percent(40))
            return;
        attempt a = root;
        a.id = all_.size() + 1;
        a.outer = root.id;
        a.depth = 2;
        a.asked = root.answered + 1;
        a.answered = a.asked + 1;
        a.release_begun = std::max(a.answered, root.release_begun - number(3) - 1);
        a.release_answered = std::min(a.release_begun + 1, root.release_begun);
        all_.push_back(a);
    }

    // Corrects what no recorder could have written.
    std::vector<attempt> settle() {
        for (auto& a : all_) {
            a.asked = std::min(a.asked, a.answered);
            if (a.outer != 0) {  // no nested request comes before the answer to the outermost
                a.asked = std::max(a.asked, all_[a.outer - 1].answered);
                a.answered = std::max(a.asked, a.answered);
            }
            a.believed = std::max(a.believed, a.asked);
            a.release_begun = std::max(a.release_begun, a.answered);
            if (a.release_answered != never)
                a.release_answered = std::max(a.release_answered, a.release_begun);
        }
        const auto events = events_of(all_);
        return attempts_of(events);
    }

    dice chance_;
    lock_row lock_;
    std::uint64_t fence_ = 0;
    std::vector<attempt> all_;
};

}  // namespace holdfast::chaos
