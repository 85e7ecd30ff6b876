// The status of the members: as text for people, and as events when it changes.
#include "backends/redlock/members.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::redlock_backend {

using namespace backend;

// Empty for the first member of a server.
std::string members::same_server_text(std::size_t i) const {
    const auto j = first_of_server(i);
    return j == i ? std::string{} : "is the same server as " + base::printable(address(j));
}

std::string members::same_servers() {
    base::guard lock(mutex_);
    std::string text;
    for (std::size_t i = 0; i < size(); ++i) {
        const auto why = same_server_text(i);
        if (!why.empty())
            text.append(text.empty() ? "" : "; ").append(base::printable(address(i)) + " " + why);
    }
    return text;
}

std::string members::too_few(std::size_t able, time_point now) const {
    return std::to_string(able) + " of " + std::to_string(members_.size()) + " members can vote, and " +
           std::to_string(engine::majority_of(members_.size())) +
           " must: " + missing(engine::member_set{}.set(), now);
}

std::string members::state_of(std::size_t i, time_point now) const {
    const auto& m = *members_[i];
    if (!m.known) return "is not connected yet";
    if (m.replica)  // its connection closes when a client tries to write
        return "is a replica; name its master, or write redis+sentinel://SENTINEL,.../MASTER, which follows "
               "it";
    if (!m.up) return m.why_down;
    switch (m.key) {
        case key_state::asked: return "has not answered yet";
        case key_state::unreadable: return "the key " + key_.printable() + " cannot be used: " + m.key_text;
        case key_state::other: return "has other members";
        case key_state::unasked:
        case key_state::agreed: break;
    }
    if (m.quarantine.anonymous())
        return "does not say which run of the server it is, so a restart would not be seen; allow the user "
               "INFO";
    if (m.quarantine.has_ended(now)) return same_server_text(i);
    const auto left = std::chrono::ceil<std::chrono::seconds>(m.quarantine.ends_at() - now);
    const bool promoted = !m.quarantine.promotion().empty();
    return std::string{promoted ? "was promoted" : "was started"} + " so lately that it may " +
           (promoted ? "not know all locks" : "have forgotten locks") + ", counts again in " +
           base::to_text(left);
}

// "a:1, b:2: is down; c:3: was promoted ...": members with the same trouble stand together.
std::string members::missing(engine::member_set which, time_point now) const {
    std::vector<std::pair<std::string, std::string>> who_and_why;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (!which.test(i)) continue;
        const auto who = base::printable(address(i));
        auto why = state_of(i, now);
        if (why.empty()) continue;
        // The text of a connection names its address.
        if (why.starts_with(who + " ")) why.erase(0, who.size() + 1);
        if (why.ends_with(" by " + who)) why.erase(why.size() - who.size() - 4);
        const auto same = std::find_if(who_and_why.begin(), who_and_why.end(),
                                       [&](const auto& known) { return known.second == why; });
        if (same == who_and_why.end())
            who_and_why.emplace_back(who, std::move(why));
        else
            same->first.append(", ").append(who);
    }
    std::string text;
    for (const auto& [who, why] : who_and_why)
        text.append(text.empty() ? "" : "; ").append(who).append(": ").append(why);
    return text;
}

// Reactor thread. Reports the status if it has changed.
void members::review() {
    health now_is = health::unknown;
    engine::member_set who;  // cannot vote
    std::string why;
    const auto now = boot_clock::now();
    auto next = time_point::max();  // when the next quarantine ends
    {
        base::guard lock(mutex_);
        bool all_known = true;
        engine::member_set voters;
        for (std::size_t i = 0; i < size(); ++i) {
            const auto& m = *members_[i];
            const bool votes = would_vote(m, now) && !voters.test(first_of_server(i));
            if (votes) voters.set(first_of_server(i));
            who.set(i, !votes);
            all_known = all_known && m.known && m.key != key_state::asked;
            if (const auto from = m.quarantine.ends_at(); m.up && from > now) next = std::min(next, from);
        }
        const auto there = size() - who.count();
        const auto needed = engine::majority_of(size());
        // While members connect, only a status that cannot get worse is reported.
        if (there == size())
            now_is = health::whole;
        else if (there >= needed && (!all_known || there > needed))
            now_is = health::good;
        else if (there == needed)
            now_is = health::weak;
        else if (all_known)
            now_is = health::gone;
        why = missing(who, now);
    }
    if (next < time_point::max() && std::exchange(review_at_, next) != next)
        later(std::chrono::ceil<milliseconds>(next - now), &members::review);
    if (now_is == health::whole) reported_same_servers_.reset();
    report_same_servers();
    if (on_change) on_change();
    if (now_is == health::unknown ||
        (now_is == reported_ && (now_is != health::weak || who == reported_missing_)))
        return;
    const auto before = std::exchange(reported_, now_is);
    reported_missing_ = who;
    using change = notice::change;
    if (now_is == health::gone) return notify_({change::link_down, "too few members can vote: " + why, {}});
    if (before == health::unknown || before == health::gone)
        notify_({change::link_up, "a majority of " + std::to_string(size()) + " members can vote", {}});
    if (now_is == health::weak)
        notify_({change::quorum_weak, "one more failure is too many; missing: " + why, {}});
    if (now_is == health::whole && before != health::unknown)
        notify_({change::quorum_whole, "all " + std::to_string(size()) + " members can vote", {}});
}

// Reactor thread. Reports each member once, until all members are separate servers.
void members::report_same_servers() {
    engine::member_set found;
    for (std::size_t i = 0; i < size(); ++i) {
        const auto first = first_with_same_server(i);
        if (first == i) continue;
        found.set(i);
        found.set(first);
    }
    if ((found & ~reported_same_servers_).none()) return;
    reported_same_servers_ |= found;
    notify_({notice::change::quorum_double, same_servers() + ": a server has one vote", {}});
}

}  // namespace holdfast::redlock_backend
