#include "chaos/checker/models.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::chaos {

namespace {

// Checks that a waiter without a limit is answered in a time of calm; not whether the answer was right.
template <class Asker>
void check_wait(const Asker& a, time_ns from, const span_of_time& calm, time_ns bound, violations& found) {
    const time_ns since = std::max(a.asked, from);
    if (a.wait != never || a.answered <= since || since >= calm.to || calm.to - since <= bound) return;
    if (a.answered == never || a.answered > since + bound)
        found.push_back({"not_served",
                         "a client waited for more than " + std::to_string(bound / 1'000'000) +
                             " ms although nothing was wrong",
                         a.lock,
                         {a.id},
                         since});
}

// When the count is surely zero: no set follows, and an answer showed zero.
std::optional<time_ns> zero_from(std::span<const latch_use> uses, const span_of_time& calm) {
    time_ns last_set = calm.from;  // a set without an answer by then is over
    for (const auto& u : uses) {
        if (u.what == action::set && u.answer != phase::busy && u.asked < calm.to)
            last_set = std::max(last_set, u.answered == never ? u.asked : u.answered);
    }
    std::optional<time_ns> zero;
    for (const auto& u : uses) {
        if (u.asked >= last_set && u.shows_zero()) zero = std::min(zero.value_or(never), u.answered);
    }
    return zero;
}

}  // namespace

violations check_liveness(std::span<const attempt> attempts, const std::vector<span_of_time>& calm,
                          time_ns bound) {
    violations found;
    for (const auto& c : calm) {
        for (const auto& a : attempts) check_wait(a, c.from, c, bound, found);
    }
    return found;
}

violations check_latch_waits(std::span<const latch_use> uses, const std::vector<span_of_time>& calm,
                             time_ns bound) {
    violations found;
    for (const auto& c : calm) {
        const auto zero = zero_from(uses, c);
        if (!zero) continue;
        for (const auto& u : uses) {
            if (u.what == action::wait) check_wait(u, *zero, c, bound, found);
        }
    }
    return found;
}

}  // namespace holdfast::chaos
