#include "engine/watchdog.hpp"

#include <algorithm>

namespace holdfast::engine {

namespace {

boot_clock::duration part(milliseconds lease, double share) noexcept {
    return std::chrono::duration_cast<boot_clock::duration>(
        std::chrono::duration<double, std::milli>(static_cast<double>(lease.count()) * share));
}

}  // namespace

// Often enough to use what is left of the lease, seldom enough not to add to the trouble.
boot_clock::duration watchdog::retry_gap(milliseconds lease) noexcept {
    return std::clamp<boot_clock::duration>(part(lease, 0.1), milliseconds{10}, milliseconds{1'000});
}

void watchdog::place(lease_id id, entry& e) {
    by_time_.erase({e.key, id});
    e.key = std::min(e.deadline, e.renew_at);
    by_time_.emplace(e.key, id);
}

void watchdog::add(lease_id id, time_point deadline, milliseconds lease, bool renewed, time_point now) {
    auto& e = entries_[id];
    by_time_.erase({e.key, id});
    e = {deadline, lease, renewed ? later(now, part(lease, renew_after_)) : time_point::max(),
         renewed,  false, {}};
    // A lease that was handed over for a short time is renewed before that time is over.
    if (renewed) e.renew_at = std::min(e.renew_at, now + (deadline - now) / 2);
    place(id, e);
}

void watchdog::remove(lease_id id) {
    const auto it = entries_.find(id);
    if (it == entries_.end()) return;
    by_time_.erase({it->second.key, id});
    entries_.erase(it);
}

void watchdog::renewed(lease_id id, time_point deadline, time_point now) {
    const auto it = entries_.find(id);
    if (it == entries_.end()) return;
    auto& e = it->second;
    e.deadline = std::max(e.deadline, deadline);
    e.asked = false;
    e.renew_at = e.renewed ? later(now, part(e.lease, renew_after_)) : time_point::max();
    place(id, e);
}

void watchdog::not_answered(lease_id id, time_point now) {
    const auto it = entries_.find(id);
    if (it == entries_.end() || !it->second.renewed) return;
    it->second.asked = false;
    it->second.renew_at = later(now, retry_gap(it->second.lease));
    place(id, it->second);
}

void watchdog::hurry(time_point now) {
    for (auto& [id, e] : entries_) {
        if (!e.renewed) continue;
        e.renew_at = std::min(e.renew_at, now);
        place(id, e);
    }
}

watchdog::work watchdog::due(time_point now) {
    work w;
    while (!by_time_.empty() && by_time_.begin()->first <= now) {
        const auto id = by_time_.begin()->second;
        auto& e = entries_.at(id);
        if (e.deadline <= now) {
            w.lost.push_back(id);
            remove(id);
        } else {
            w.renew.push_back(id);
            if (e.asked) w.overdue.push_back(id);
            e.asked = true;
            e.renew_at = later(now, retry_gap(e.lease));
            place(id, e);
        }
    }
    return w;
}

}  // namespace holdfast::engine
