#include "chaos/checker/violation.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

namespace holdfast::chaos {

namespace {

constexpr time_ns around = 20'000'000;  // of others' events, before and after
constexpr std::size_t most_lines = 60;

}  // namespace

std::string report(const violation& v, const history& h) {
    const std::set<std::uint64_t> whom{v.holds.begin(), v.holds.end()};
    time_ns first = v.at, last = v.at;
    std::vector<const event*> shown;
    for (const auto& e : h.events) {
        const bool about = whom.contains(e.hold);
        if (about) {
            first = std::min(first, e.t);
            last = std::max(last, e.t);
        }
        if (about || (e.lock == v.lock && e.t > v.at - around && e.t < v.at + around)) shown.push_back(&e);
    }
    std::string text = "VIOLATION " + std::string{v.rule} + " of lock " +
                       (v.lock < h.locks.size() ? h.locks[v.lock].name : "?") + ": " + v.text + "\n";
    text += "  times count from the first event of the holds (*), or from the violation\n";
    // If there are too many: those nearest to the violation.
    const auto distance = [&](const event* e) { return std::max(e->t, v.at) - std::min(e->t, v.at); };
    const auto all = shown.size();
    if (all > most_lines) {
        std::stable_sort(shown.begin(), shown.end(), [&](const event* a, const event* b) {
            const bool a_about = whom.contains(a->hold), b_about = whom.contains(b->hold);
            return a_about != b_about ? a_about : distance(a) < distance(b);
        });
        shown.resize(most_lines);
        std::stable_sort(shown.begin(), shown.end(),
                         [](const event* a, const event* b) { return a->t < b->t; });
    }
    for (const auto* e : shown)
        text += (whom.contains(e->hold) ? " *" : "  ") + describe(*e, h.locks, first) + "\n";
    if (all > shown.size())
        text += "   and " + std::to_string(all - shown.size()) + " more events around them\n";
    for (const auto& f : h.faults) {
        if (f.to >= first - 1'000'000'000 && f.from <= last + around)
            text +=
                "   fault " + relative(f.from, first) + " .. " + relative(f.to, first) + "  " + f.what + "\n";
    }
    return text;
}

}  // namespace holdfast::chaos
