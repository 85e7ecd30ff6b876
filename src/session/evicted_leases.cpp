#include "session/evicted_leases.hpp"

#include "session/held_lease.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::session {

bool evicted_leases::keep(const std::vector<lease>& struck, report gave_up) {
    const auto cannot = [&](const auto& t) { return t->thread != nullptr || keeps(*t); };
    if (std::any_of(struck.begin(), struck.end(), cannot)) return false;
    const auto by = std::make_shared<eviction>(eviction{struck.size(), std::move(gave_up)});
    for (const auto& t : struck) kept_.emplace(t.get(), kept{t, by});
    return true;
}

void evicted_leases::forget(const held_lease& t) {
    const auto it = kept_.find(&t);
    if (it == kept_.end()) return;
    it->second.by->gave_up = nullptr;
    (void)take_out(it);
}

void evicted_leases::count_holds(const held_lease& t, std::uint32_t holds) {
    if (const auto it = kept_.find(&t); it != kept_.end()) it->second.holds = holds;
}

std::optional<evicted_leases::report> evicted_leases::end_hold(const held_lease& t) {
    const auto it = kept_.find(&t);
    if (it == kept_.end()) return report{};
    if (it->second.holds > 1) {
        --it->second.holds;
        return std::nullopt;
    }
    return take_out(it).gave_up;
}

std::vector<evicted_leases::freed> evicted_leases::end_all() {
    std::vector<freed> all;
    while (!kept_.empty()) all.push_back(take_out(kept_.begin()));
    return all;
}

evicted_leases::freed evicted_leases::take_out(entries::iterator it) {
    auto [of, by, holds] = std::move(it->second);
    kept_.erase(it);
    return {std::move(of), --by->open == 0 ? std::move(by->gave_up) : report{}};
}

}  // namespace holdfast::session
