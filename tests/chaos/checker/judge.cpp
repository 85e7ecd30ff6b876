#include "chaos/checker/judge.hpp"

#include <algorithm>
#include <map>

namespace holdfast::chaos {

namespace {

void append(violations& to, violations more) {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

violations check_holders(std::span<const attempt> attempts, const lock_row& lock) {
    switch (lock.model) {
        case model::exclusive: return check_exclusive(attempts);
        case model::reentrant: {
            std::vector<attempt> folded;
            auto found = check_nesting(attempts, folded);
            append(found, check_exclusive(folded));
            return found;
        }
        case model::shared: return check_shared(attempts);
        case model::counted: return check_counted(attempts, lock.permits);
        case model::latch: break;  // has no holders
    }
    return {};
}

std::vector<std::vector<event>> by_lock(const history& h) {
    std::vector<std::vector<event>> events(h.locks.size());
    for (const auto& e : h.events) {
        if (e.action != action::write) events.at(e.lock).push_back(e);
    }
    return events;
}

std::vector<span_of_time> forgetting_of(const history& h) {
    std::vector<span_of_time> all;
    for (const auto& f : h.faults) {
        if (f.forgets) all.push_back({f.from, f.to});
    }
    return all;
}

bool outermost(const attempt& a) { return a.outer == 0; }

}  // namespace

violations judge(const history& h, const judgement_settings& how) {
    const auto events = by_lock(h);
    std::vector<std::vector<event>> writes(h.locks.size());
    for (const auto& e : h.events) {
        if (e.action == action::write) writes.at(e.lock).push_back(e);
    }
    std::vector<std::vector<span_of_time>> strikes(h.locks.size());
    std::vector<std::vector<fault>> evictions(h.locks.size());
    std::map<std::uint32_t, time_ns> killed;
    const auto forgetting = forgetting_of(h);
    for (const auto& f : h.faults) {
        if (f.killed != 0) killed.emplace(f.killed, f.from);
        if (f.evicts >= 0) evictions.at(static_cast<std::size_t>(f.evicts)).push_back(f);
        if (f.struck >= 0) strikes.at(static_cast<std::size_t>(f.struck)).push_back({f.from, f.to});
    }

    violations found;
    for (std::uint16_t i = 0; i < h.locks.size(); ++i) {
        const auto& lock = h.locks[i];
        if (lock.model == model::latch) {
            auto uses = uses_of(events[i], forgetting);
            append(found, check_counts(uses, forgetting));
            std::erase_if(uses, [&](const latch_use& u) { return killed.contains(u.process); });
            append(found, check_latch_waits(uses, h.calm, how.served_within));
            continue;
        }
        auto all = attempts_of(events[i]);
        for (auto& a : all) {
            const auto death = killed.find(a.process);
            if (lock.ends_with_process && death != killed.end()) end_firm_part(a, death->second);
        }
        append(found, check_strikes(all, events[i], strikes[i]));
        append(found, check_evictions(all, events[i], evictions[i]));
        if (!lock.best_effort) {
            append(found, check_holders(all, lock));
            if (!lock.by_votes && !lock.told_early) append(found, check_losses(all));
        }
        append(found, check_loss_reports(all));
        std::vector<attempt> outer;
        std::copy_if(all.begin(), all.end(), std::back_inserter(outer), outermost);
        if (!lock.dead_stay_in_queue) {
            // The last hold that an owner releases may be a nested one.
            std::vector<attempt> owners;
            (void)check_nesting(all, owners);
            append(found, check_refusals(owners, lock, h.faults, how.others));
        }
        if (lock.fenced) {
            const auto before = how.fences_before.find(i);
            append(found, check_fences(outer, before == how.fences_before.end() ? 0 : before->second));
            append(found, check_writes(all, writes[i]));
        }
        // Killed clients need not be served.
        std::erase_if(outer, [&](const attempt& a) { return killed.contains(a.process); });
        append(found, check_liveness(outer, h.calm, how.served_within));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const violation& a, const violation& b) { return a.at < b.at; });
    return found;
}

std::size_t count_unpromised(const history& h) {
    std::size_t n = 0;
    const auto events = by_lock(h);
    for (std::size_t i = 0; i < h.locks.size(); ++i) {
        if (!h.locks[i].best_effort) continue;
        const auto all = attempts_of(events[i]);
        n += check_holders(all, h.locks[i]).size() + check_losses(all).size();
    }
    return n;
}

std::size_t count_unjudged(const history& h) {
    std::size_t n = 0;
    const auto events = by_lock(h);
    const auto forgetting = forgetting_of(h);
    for (std::size_t i = 0; i < h.locks.size(); ++i) {
        if (h.locks[i].model == model::latch)
            (void)check_counts(uses_of(events[i], forgetting), forgetting, &n);
    }
    return n;
}

tally& tally::operator+=(const tally& other) {
    events += other.events;
    operations += other.operations;
    granted += other.granted;
    refused += other.refused;
    failed += other.failed;
    overrun += other.overrun;
    let_through += other.let_through;
    writes_accepted += other.writes_accepted;
    writes_refused += other.writes_refused;
    return *this;
}

tally count(const history& h) {
    tally t;
    t.events = h.events.size();
    for (const auto& e : h.events) {
        if (e.phase == phase::invoke) continue;
        const bool ok = e.phase == phase::ok;
        ++t.operations;
        if (e.action == action::acquire) ++(ok ? t.granted : e.phase == phase::busy ? t.refused : t.failed);
        if (e.action == action::look && !ok) ++t.overrun;
        if (e.action == action::wait && ok) ++t.let_through;
        if (e.action == action::write) ++(ok ? t.writes_accepted : t.writes_refused);
    }
    return t;
}

void remember_fences(const history& h, std::map<std::uint16_t, std::uint64_t>& fences) {
    for (const auto& e : h.events) {
        if (e.action == action::acquire && e.phase == phase::ok && e.fence != 0)
            fences[e.lock] = std::max(fences[e.lock], e.fence);
    }
}

}  // namespace holdfast::chaos
