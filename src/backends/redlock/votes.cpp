// Which members may vote, and whether they are a majority.
#include "backends/redlock/members.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace holdfast::redlock_backend {

using namespace backend;

bool members::connected(const member& m) const {
    return m.up && !m.replica && (m.key == key_state::agreed || m.key == key_state::unasked);
}

bool members::may_vote(const member& m, time_point now) const {
    return m.up && !m.replica && m.key == key_state::agreed && m.quarantine.has_ended(now);
}

// Whether it would vote if a client asked it now. Its membership key and its age as a master are unknown
// until a caller locks, and neither speaks against it.
bool members::would_vote(const member& m, time_point now) const {
    const bool may_be_old = m.key == key_state::unasked && !m.quarantine.promotion().empty();
    return connected(m) && !m.quarantine.anonymous() && (m.quarantine.has_ended(now) || may_be_old);
}

// It is not known yet whether the member may vote.
bool members::to_be_asked(const member& m) const {
    return !m.known || (m.up && !m.replica && (m.key == key_state::unasked || m.key == key_state::asked));
}

engine::quorum_attempt::counts members::counts(std::size_t i, time_point now) {
    base::guard lock(mutex_);
    return wrong_.empty() && may_vote(*members_[i], now) ? engine::quorum_attempt::counts::yes
                                                         : engine::quorum_attempt::counts::no;
}

members::vote_status members::vote_status_of(const member& m, const engine::quarantine& quarantine,
                                             key_view how, time_point now) const {
    using what = vote_status::what;
    const bool counts = quarantine.has_ended(now);
    const bool hoped = how == key_view::assumed_agreed && connected(m);
    if (counts && (hoped || (m.up && !m.replica && m.key == key_state::agreed))) return {what::votes};
    if (!hoped && to_be_asked(m)) return {what::undecided, m.up && m.key == key_state::unasked && counts};
    if (connected(m) && !quarantine.anonymous()) return {what::quarantined, false, quarantine.ends_at()};
    const auto wrong = error_to_fix(m);
    return {wrong ? what::misconfigured : what::absent, false, {}, wrong};
}

template <class StatusOf>
members::quorum_status members::weigh(time_point now, StatusOf status_of) const {
    // A server counts as the best of its members.
    std::array<std::optional<vote_status>, engine::most_members> servers;
    std::size_t hopeless = 0;  // members that can add nothing
    for (std::size_t i = 0; i < size(); ++i) {
        const auto s = status_of(i);
        auto& best = servers[first_of_server(i)];
        if (best) ++hopeless;
        if (!best || s.is < best->is || (s.is == best->is && s.until < best->until)) best = s;
    }
    const auto needed = engine::majority_of(size());
    std::size_t good = 0;
    std::size_t open = 0;  // may vote later
    std::size_t able = 0;  // of these: nothing speaks against it
    std::error_code wrong_with_one =
        make_error_code(errc::invalid_argument);  // too many lead to the same server
    std::vector<time_point> quarantined;          // until
    for (const auto& best : servers) {
        if (!best) continue;
        const auto& s = *best;
        switch (s.is) {
            case vote_status::what::votes: ++good; break;
            case vote_status::what::undecided:
                ++open;
                able += s.promising ? 1 : 0;
                break;
            case vote_status::what::quarantined: quarantined.push_back(s.until); break;
            case vote_status::what::misconfigured:
                ++hopeless;
                wrong_with_one = s.error_to_fix;
                break;
            case vote_status::what::absent: break;
        }
    }
    if (good >= needed) return {.what = quorum_state::enough, .more_may_come = open > 0};
    quorum_status none{quorum_state::too_few,
                       {{make_error_code(errc::unavailable), too_few(good + able, now)}}};
    if (size() - hopeless < needed) {
        none.what = quorum_state::misconfigured;
        none.why.code = wrong_with_one;
    } else if (good + open >= needed) {
        none.what = quorum_state::undecided;
    } else if (good + quarantined.size() >= needed) {
        const auto last = quarantined.begin() + static_cast<std::ptrdiff_t>(needed - good - 1);
        std::nth_element(quarantined.begin(), last, quarantined.end());
        none.why.code = errc::quarantined;
        none.why.look_again = std::chrono::ceil<milliseconds>(*last - now);
    }
    return none;
}

members::uncounted_grants members::why_uncounted(engine::member_set granted, std::size_t wanting,
                                                 time_point asked) {
    base::guard lock(mutex_);
    uncounted_grants found{missing(granted, asked), {}};
    std::vector<time_point> until;
    for (std::size_t i = 0; i < size(); ++i) {
        const auto& m = *members_[i];
        if (granted.test(i) && connected(m) && !m.quarantine.anonymous() && !m.quarantine.has_ended(asked))
            until.push_back(m.quarantine.ends_at());
    }
    if (wanting == 0 || wanting > until.size()) return found;
    const auto last = until.begin() + static_cast<std::ptrdiff_t>(wanting - 1);
    std::nth_element(until.begin(), last, until.end());
    found.over_at = *last;
    return found;
}

members::quorum_status members::status(time_point now) {
    base::guard lock(mutex_);
    if (!wrong_.empty())
        return {quorum_state::misconfigured, {{make_error_code(errc::invalid_argument), wrong_}}};
    return weigh(now, [&](std::size_t i) REQUIRES(mutex_) {
        return vote_status_of(*members_[i], members_[i]->quarantine, key_view::known, now);
    });
}

members::prediction members::predict(const promotion_ages& ages, time_point now) {
    base::guard lock(mutex_);
    if (!wrong_.empty()) return {quorum_state::misconfigured, make_error_code(errc::invalid_argument)};
    prediction all{quorum_state::enough};
    const auto it_is = weigh(now, [&](std::size_t i) REQUIRES(mutex_) {
        auto quarantine = members_[i]->quarantine;
        if (ages[i]) quarantine.began_before(quarantine.run_id(), *ages[i], now);
        const auto s = vote_status_of(*members_[i], quarantine, key_view::assumed_agreed, now);
        if (s.is == vote_status::what::quarantined) all.waiting.emplace_back(i, s.until);
        return s;
    });
    all.what = it_is.what;
    all.why = it_is.why.code;
    if (all.why == errc::quarantined) all.left = it_is.why.look_again;
    return all;
}

// The error that a person must fix before this member can vote; empty if it may vote by itself later.
std::error_code members::error_to_fix(const member& m) const {
    if (!m.up) return m.error_to_fix == condition::misuse ? m.error_to_fix : std::error_code{};
    if (m.key == key_state::unreadable)
        return m.key_error == errc::no_permission ? m.key_error : std::error_code{};
    return m.quarantine.anonymous() ? make_error_code(errc::no_permission) : std::error_code{};
}

std::string members::misuse() const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const auto& m = *members_[i];
        if (!m.up) continue;
        if (m.key == key_state::other) return base::printable(address(i)) + " " + how_it_differs(m.key_text);
    }
    return {};
}

}  // namespace holdfast::redlock_backend
