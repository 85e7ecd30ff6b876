#include "observe/counters.hpp"

#include "base/text.hpp"

namespace holdfast::observe {

namespace {

void add_to(histogram& sum, const histogram& more) {
    for (std::size_t i = 0; i < sum.buckets.size(); ++i) sum.buckets[i] += more.buckets[i];
    sum.count += more.count;
    sum.sum += more.sum;
}

template <class Array>
std::uint64_t sum_of(const Array& all) noexcept {
    std::uint64_t sum = 0;
    for (const auto& one : all) sum += one.get();
    return sum;
}

}  // namespace

std::string_view to_string(loss why) noexcept {
    switch (why) {
        case loss::expired: return "expired";
        case loss::not_owner: return "not_owner";
        case loss::evicted: return "evicted";
        case loss::session: return "session";
        case loss::closed: return "closed";
    }
    return "unknown";
}

std::size_t index_of(const std::error_code& why) noexcept {
    const auto value = static_cast<std::size_t>(std::max(why.value(), 0));
    const bool ours = why.category() == make_error_code(errc::lost).category();
    return ours && value < failure_kinds ? value : 0;
}

std::string_view name_of_failure(std::size_t index) noexcept {
    switch (static_cast<errc>(index)) {
        case errc::invalid_argument: return "invalid_argument";
        case errc::would_deadlock: return "would_deadlock";
        case errc::not_owner: return "not_owner";
        case errc::wrong_kind: return "wrong_kind";
        case errc::no_permission: return "no_permission";
        case errc::forked: return "forked";
        case errc::closed: return "closed";
        case errc::unavailable: return "unavailable";
        case errc::out_of_memory: return "out_of_memory";
        case errc::busy_server: return "busy_server";
        case errc::not_replicated: return "not_replicated";
        case errc::too_weak: return "too_weak";
        case errc::quarantined: return "quarantined";
        case errc::unknown_outcome: return "unknown_outcome";
        case errc::lost: return "lost";
        case errc::lease_too_short: return "lease_too_short";
        case errc::timed_out: return "timed_out";
        case errc::cancelled: return "cancelled";
        case errc::bad_reply: return "bad_reply";
    }
    return "other";
}

std::uint64_t lock_counters::all_failed() const noexcept { return sum_of(failed); }
std::uint64_t lock_counters::all_lost() const noexcept { return sum_of(lost); }

counters::counters(const std::vector<lock_family>& families) : patterns_(families) {
    for (const auto& one : patterns_) families_.emplace_back(one.name);
    families_.emplace_back(patterns_.empty() ? std::string{} : std::string{lock_family::of_others});
}

lock_counters& counters::of(std::string_view name) noexcept {
    for (std::size_t i = 0; i < patterns_.size(); ++i)
        if (base::glob_match(patterns_[i].match, name)) return families_[i];
    return families_.back();
}

client_stats counters::snapshot(std::uint64_t commands_sent) const {
    client_stats s;
    s.attempts = {granted.get(), busy.get(), refused.get(), unknown.get()};
    for (const auto& f : families_) {
        s.acquired += f.acquired.get();
        s.reentered += f.reentered.get();
        s.not_acquired += f.not_acquired.get();
        s.failed += f.all_failed();
        s.released += f.released.get();
        s.lost += f.all_lost();
        s.held_now += f.held.get();
        add_to(s.wait, f.wait.get());
        add_to(s.hold, f.hold.get());
    }
    s.renewals = renewals.get();
    s.renewals_failed = renewals_failed.get();
    s.commands_sent = commands_sent;
    s.events_dropped = events_dropped.get();
    return s;
}

}  // namespace holdfast::observe
