#include "engine/watchdog.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

namespace {

boot_clock::duration part(milliseconds lease, double share) noexcept {
    return std::chrono::duration_cast<boot_clock::duration>(
        std::chrono::duration<double, std::milli>(static_cast<double>(lease.count()) * share));
}

constexpr boot_clock::duration claim_after = milliseconds{100};

// A millisecond late at most, and never early.
time_point rounded_up(time_point t) noexcept {
    constexpr auto step = milliseconds{1};
    if (t > time_point::max() - step) return time_point::max();
    return std::chrono::ceil<milliseconds>(t);
}

}  // namespace

// Retries often enough to use the rest of the lease, and rarely enough not to add to the trouble.
boot_clock::duration watchdog::retry_gap(const entry& e, time_point now) noexcept {
    const auto wanted = std::min<boot_clock::duration>(part(e.lease, 0.1), (e.deadline - now) / 4);
    return std::clamp<boot_clock::duration>(wanted, milliseconds{10}, milliseconds{1'000});
}

// Renews at times that leases of one length share, so that the store is asked once for many: in a command for
// a hundred, each costs half as much as in one for ten. Never late, and early by a 60th of the lease at most.
time_point watchdog::next_renewal(milliseconds lease, time_point now) const noexcept {
    const auto at = later(now, part(lease, renew_after_));
    const auto step = std::clamp(lease / 60, milliseconds{1}, milliseconds{500});
    return at == time_point::max() ? at : at - (at - origin_) % step;
}

void watchdog::place(lease_id id, entry& e) {
    const auto at = rounded_up(std::min(e.deadline, e.renew_at));
    if (std::exchange(e.key, at) == at || at == time_point::max()) return;
    by_time_[at].push_back(id);
    if (++ids_ > 2 * entries_.size() + 1024) sweep();
}

bool watchdog::is_current(lease_id id, time_point at) const {
    const auto it = entries_.find(id);
    return it != entries_.end() && it->second.key == at;
}

// Removes the ids that were left behind.
void watchdog::sweep() {
    by_time_.clear();
    ids_ = 0;
    for (const auto& [id, e] : entries_) {
        if (e.key == time_point::max()) continue;
        by_time_[e.key].push_back(id);
        ++ids_;
    }
}

time_point watchdog::next() {
    while (!by_time_.empty()) {
        auto& [at, ids] = *by_time_.begin();
        for (; !ids.empty() && !is_current(ids.back(), at); --ids_) ids.pop_back();
        if (!ids.empty()) return at;
        by_time_.erase(by_time_.begin());
    }
    return time_point::max();
}

void watchdog::plan_renewal(entry& e, time_point now) const noexcept {
    e.renew_at = e.renewed ? next_renewal(e.lease, now) : time_point::max();
    // A lease that was handed over, or renewed for less than is wanted by now, is renewed soon but not at
    // once: if it is released before, it needs no renewal.
    if (const auto left = e.deadline - now; e.renewed && left < e.lease / 2)
        e.renew_at = std::min(e.renew_at, now + std::min<boot_clock::duration>(left / 2, claim_after));
}

void watchdog::add(lease_id id, time_point deadline, milliseconds lease, bool renewed, time_point now) {
    if (origin_ == time_point{}) origin_ = now;
    auto& e = entries_[id];
    e = {deadline, lease, time_point::max(), renewed, false, e.key};
    plan_renewal(e, now);
    place(id, e);
}

void watchdog::remove(lease_id id) { entries_.erase(id); }

void watchdog::renewed(lease_id id, time_point deadline, time_point now) {
    const auto it = entries_.find(id);
    if (it == entries_.end()) return;
    auto& e = it->second;
    e.deadline = std::max(e.deadline, deadline);
    e.asked = false;
    plan_renewal(e, now);
    place(id, e);
}

void watchdog::gives_less(lease_id id, milliseconds lease, time_point deadline) {
    const auto it = entries_.find(id);
    if (it == entries_.end()) return;
    it->second.lease = std::min(it->second.lease, lease);
    it->second.deadline = std::min(it->second.deadline, deadline);
}

void watchdog::not_answered(lease_id id, time_point now) {
    const auto it = entries_.find(id);
    if (it == entries_.end() || !it->second.renewed) return;
    auto& e = it->second;
    e.asked = false;
    // The answer may be to an earlier try, and never delays a planned renewal.
    e.renew_at = std::min(e.renew_at, later(now, retry_gap(e, now)));
    place(id, e);
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
    while (next() <= now) {
        const auto bucket = by_time_.extract(by_time_.begin());
        ids_ -= bucket.mapped().size();
        for (const auto id : bucket.mapped()) {
            if (!is_current(id, bucket.key())) continue;
            auto& e = entries_.at(id);
            if (e.deadline <= now) {
                w.lost.push_back(id);
                remove(id);
                continue;
            }
            w.renew.push_back(id);
            if (e.asked) w.overdue.push_back(id);
            e.asked = true;
            e.renew_at = later(now, retry_gap(e, now));
            place(id, e);
        }
    }
    return w;
}

}  // namespace holdfast::engine
