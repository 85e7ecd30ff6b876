#include "backends/quorum/council.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <utility>

namespace holdfast::quorum_backend {

namespace {

using namespace backend;

config config_of_member(const config& all, const std::string& url) {
    auto own = all;
    own.url = url;
    own.connections = 1;  // a thread drives one connection of each member
    return own;
}

}  // namespace

council::council(const backends::services& given, quorum_config c)
    : wanted(std::move(c)),
      settings(given.settings),
      trust{given.settings.drift, given.settings.margin},
      reactor(given.reactor),
      id_(given.id),
      tell_(given.tell),
      mark_(wanted.name.empty() ? "holdfast:redlock" : "holdfast:redlock:" + wanted.name),
      agreement_(agreement_on(wanted)) {
    for (const auto& m : wanted.members) {
        members_.push_back(
            std::make_unique<member>(engine::standing_rules{wanted.longest_lease, wanted.quarantine},
                                     config_of_member(settings, m.url)));
    }
}

void council::open(member_opener opener) {
    try {
        // A member may be found before the last is opened; what it says then waits for the mutex.
        base::guard lock(mutex_);
        for (std::size_t i = 0; i < size(); ++i) {
            auto& m = *members_[i];
            m.store = opener({reactor, m.settings, id_, [weak = weak_from_this(), i](const notice& n) {
                                  if (const auto self = weak.lock(); self && !self->closed())
                                      self->on_notice(i, n);
                              }});
            // Not every store has one connection that can be driven; the reactor reads for those.
            if (auto* driven = dynamic_cast<io::driven_store*>(m.store.get()))
                connections_.push_back(&driven->connection());
        }
    } catch (...) {
        close();
        throw;
    }
    if (size() % 2 == 0) {
        reactor.post([weak = weak_from_this()] {
            const auto self = weak.lock();
            if (!self || self->closed()) return;
            self->tell_({notice::change::quorum_even,
                         std::to_string(self->size()) + " members bear no more failures than " +
                             std::to_string(self->size() - 1) + ", and one more of them can fail",
                         {}});
        });
    }
}

void council::close() {
    if (closed_.exchange(true)) return;
    // What begins on the reactor from here on sees that we are closed; what runs there now is waited for.
    const auto passed = std::make_shared<std::promise<void>>();
    reactor.post([passed] { passed->set_value(); });
    passed->get_future().wait();
    // Each answers what is still open, and those handlers look at the council, not at another store.
    for (const auto& m : members_) m->store.reset();
}

void council::abandon() noexcept {
    closed_ = true;
    for (const auto& m : members_) m->store->abandon();
}

void council::later(milliseconds pause, void (council::*what)()) {
    reactor.at(boot_clock::now() + pause, [weak = weak_from_this(), what] {
        if (const auto self = weak.lock(); self && !self->closed()) (self.get()->*what)();
    });
}

// --- what members say -------------------------------------------------------------------------------

void council::on_notice(std::size_t i, const notice& n) {
    using change = notice::change;
    const auto now = boot_clock::now();
    const auto of_member = [&] { return base::printable(address(i)) + ": " + n.detail; };
    switch (n.what) {
        case change::link_up: {
            {
                base::guard lock(mutex_);
                auto& m = *members_[i];
                m.known = m.up = true;
                m.replica = n.replica;
                m.stands.met(n.run_id, n.uptime, now, n.promotion);
                m.mark = mark::unasked;
                ++m.epoch;
                wrong_ = misuse();
            }
            agree();
            return review();
        }
        case change::link_down: {
            {
                base::guard lock(mutex_);
                auto& m = *members_[i];
                m.known = true;
                m.up = false;
                m.why_down = n.detail;
                m.to_mend = n.reason;
                m.mark = mark::unasked;
                ++m.epoch;
                wrong_ = misuse();
            }
            agree();
            return review();
        }
        case change::restarted:
        case change::failed_over:
        case change::eviction_risk:
        case change::evicted:
            return tell_({.what = n.what, .detail = of_member(), .owner = n.owner, .say_so = n.say_so});
        case change::no_channel_right:  // nobody listens
        case change::quorum_weak:
        case change::quorum_whole:
        case change::quorum_double:
        case change::quorum_even: return;
    }
}

// --- who may vote -----------------------------------------------------------------------------------

bool council::connected(const member& m) const {
    return m.up && !m.replica && (m.mark == mark::agreed || m.mark == mark::unasked);
}

bool council::may_vote(const member& m, time_point now) const {
    return m.up && !m.replica && m.mark == mark::agreed && m.stands.counts(now);
}

// If somebody asked it now. Nobody has compared its mark before somebody is about to lock, nor asked since
// when it is a master: neither speaks against it.
bool council::would_vote(const member& m, time_point now) const {
    const bool may_be_old = m.mark == mark::unasked && !m.stands.promotion().empty();
    return connected(m) && !m.stands.anonymous() && (m.stands.counts(now) || may_be_old);
}

// It has not said yet whether it may.
bool council::to_be_asked(const member& m) const {
    return !m.known || (m.up && !m.replica && (m.mark == mark::unasked || m.mark == mark::asked));
}

engine::ballot::counts council::counts(std::size_t i, time_point now) {
    base::guard lock(mutex_);
    return wrong_.empty() && may_vote(*members_[i], now) ? engine::ballot::counts::yes
                                                         : engine::ballot::counts::no;
}

council::stance council::stance_of(const member& m, const engine::standing& stands, marks how,
                                   time_point now) const {
    using what = stance::what;
    const bool counts = stands.counts(now);
    const bool hoped = how == marks::hoped_for && connected(m);
    if (counts && (hoped || (m.up && !m.replica && m.mark == mark::agreed))) return {what::votes};
    if (!hoped && to_be_asked(m)) return {what::open, m.up && m.mark == mark::unasked && counts};
    if (connected(m) && !stands.anonymous()) return {what::waits, false, stands.counts_from()};
    const auto wrong = to_mend(m);
    return {wrong ? what::wrong : what::gone, false, {}, wrong};
}

template <class Stance>
council::outlook council::weigh(time_point now, Stance stance_at) const {
    // A server is as good as the best of its members.
    std::array<std::optional<stance>, engine::most_members> servers;
    std::size_t hopeless = 0;  // members that can add nothing
    for (std::size_t i = 0; i < size(); ++i) {
        const auto s = stance_at(i);
        auto& best = servers[first_of(i)];
        if (best) ++hopeless;
        if (!best || s.is < best->is || (s.is == best->is && s.until < best->until)) best = s;
    }
    const auto needed = engine::majority_of(size());
    std::size_t good = 0;
    std::size_t open = 0;  // may yet be
    std::size_t able = 0;  // of them: nothing speaks against it
    std::error_code wrong_with_one = make_error_code(errc::invalid_argument);  // too many are doubles
    std::vector<time_point> quarantined;                                       // until
    for (const auto& best : servers) {
        if (!best) continue;
        const auto& s = *best;
        switch (s.is) {
            case stance::what::votes: ++good; break;
            case stance::what::open:
                ++open;
                able += s.nothing_against ? 1 : 0;
                break;
            case stance::what::waits: quarantined.push_back(s.until); break;
            case stance::what::wrong:
                ++hopeless;
                wrong_with_one = s.to_mend;
                break;
            case stance::what::gone: break;
        }
    }
    if (good >= needed) return {.what = prospects::good, .others_come = open > 0};
    outlook none{prospects::poor, {{make_error_code(errc::unavailable), too_few(good + able, now)}}};
    if (size() - hopeless < needed) {
        none.what = prospects::misuse;
        none.why.code = wrong_with_one;
    } else if (good + open >= needed) {
        none.what = prospects::soon;
    } else if (good + quarantined.size() >= needed) {
        const auto last = quarantined.begin() + static_cast<std::ptrdiff_t>(needed - good - 1);
        std::nth_element(quarantined.begin(), last, quarantined.end());
        none.why.code = errc::quarantined;
        none.why.look_again = std::chrono::ceil<milliseconds>(*last - now);
    }
    return none;
}

council::doubts council::about(engine::member_set granted, std::size_t wanting, time_point asked) {
    base::guard lock(mutex_);
    doubts found{missing(granted, asked), {}};
    std::vector<time_point> until;
    for (std::size_t i = 0; i < size(); ++i) {
        const auto& m = *members_[i];
        if (granted.test(i) && connected(m) && !m.stands.anonymous() && !m.stands.counts(asked))
            until.push_back(m.stands.counts_from());
    }
    if (wanting == 0 || wanting > until.size()) return found;
    const auto last = until.begin() + static_cast<std::ptrdiff_t>(wanting - 1);
    std::nth_element(until.begin(), last, until.end());
    found.over_at = *last;
    return found;
}

council::outlook council::look(time_point now) {
    base::guard lock(mutex_);
    if (!wrong_.empty()) return {prospects::misuse, {{make_error_code(errc::invalid_argument), wrong_}}};
    return weigh(now, [&](std::size_t i) REQUIRES(mutex_) {
        return stance_of(*members_[i], members_[i]->stands, marks::as_told, now);
    });
}

council::forecast council::foresee(const ages& told, time_point now) {
    base::guard lock(mutex_);
    if (!wrong_.empty()) return {prospects::misuse, make_error_code(errc::invalid_argument)};
    forecast all{prospects::good};
    const auto it_is = weigh(now, [&](std::size_t i) REQUIRES(mutex_) {
        auto stands = members_[i]->stands;
        if (told[i]) stands.began_before(stands.run_id(), *told[i], now);
        const auto s = stance_of(*members_[i], stands, marks::hoped_for, now);
        if (s.is == stance::what::waits) all.waiting.emplace_back(i, s.until);
        return s;
    });
    all.what = it_is.what;
    all.why = it_is.why.code;
    if (all.why == errc::quarantined) all.left = it_is.why.look_again;
    return all;
}

// Why it cannot vote before somebody mends it; empty: it may be otherwise in a moment.
std::error_code council::to_mend(const member& m) const {
    if (!m.up) return m.to_mend == condition::misuse ? m.to_mend : std::error_code{};
    if (m.mark == mark::unreadable)
        return m.mark_refused == errc::no_permission ? m.mark_refused : std::error_code{};
    return m.stands.anonymous() ? make_error_code(errc::no_permission) : std::error_code{};
}

std::string council::misuse() const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const auto& m = *members_[i];
        if (!m.up) continue;
        if (m.mark == mark::other) return base::printable(address(i)) + " " + complaint_about(m.mark_text);
    }
    return {};
}

std::size_t council::first_of(std::size_t i) const {
    const auto& m = *members_[i];
    if (!m.up || m.stands.run_id().empty()) return i;
    std::size_t j = 0;
    while (j < i && !(members_[j]->up && members_[j]->stands.run_id() == m.stands.run_id())) ++j;
    return j;
}

std::size_t council::first_self(std::size_t i) {
    base::guard lock(mutex_);
    return first_of(i);
}

std::string council::server_of(std::size_t i) {
    base::guard lock(mutex_);
    const auto& run = members_[i]->stands.run_id();
    return run.empty() ? std::to_string(i) : run;
}

// Nothing if it is the only one of its server, or the first.
std::string council::doubled(std::size_t i) const {
    const auto j = first_of(i);
    return j == i ? std::string{} : "is the same server as " + base::printable(address(j));
}

std::string council::doubles() {
    base::guard lock(mutex_);
    std::string text;
    for (std::size_t i = 0; i < size(); ++i) {
        const auto why = doubled(i);
        if (!why.empty())
            text.append(text.empty() ? "" : "; ").append(base::printable(address(i)) + " " + why);
    }
    return text;
}

std::string council::too_few(std::size_t able, time_point now) const {
    return std::to_string(able) + " of " + std::to_string(members_.size()) + " members can vote, and " +
           std::to_string(engine::majority_of(members_.size())) +
           " must: " + missing(engine::member_set{}.set(), now);
}

std::string council::state_of(std::size_t i, time_point now) const {
    const auto& m = *members_[i];
    if (!m.known) return "is not connected yet";
    if (m.replica)  // it closes the connection of whoever tries to write
        return "is a replica; name its master, or write redis+sentinel://SENTINEL,.../MASTER, which follows "
               "it";
    if (!m.up) return m.why_down;
    switch (m.mark) {
        case mark::asked: return "has not answered yet";
        case mark::unreadable: return "the key " + mark_.printable() + " cannot be used: " + m.mark_text;
        case mark::other: return "has other members";
        case mark::unasked:
        case mark::agreed: break;
    }
    if (m.stands.anonymous())
        return "does not say which run of the server it is, so a restart would not be seen; allow the user "
               "INFO";
    if (m.stands.counts(now)) return doubled(i);
    const auto left = std::chrono::ceil<std::chrono::seconds>(m.stands.counts_from() - now);
    const bool promoted = !m.stands.promotion().empty();
    return std::string{promoted ? "was promoted" : "was started"} + " so lately that it may " +
           (promoted ? "not know all locks" : "have forgotten locks") + ", counts again in " +
           base::to_text(left);
}

// "a:1, b:2: is down; c:3: was promoted ...": those with the same trouble together.
std::string council::missing(engine::member_set which, time_point now) const {
    std::vector<std::pair<std::string, std::string>> who_and_why;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (!which.test(i)) continue;
        const auto who = base::printable(address(i));
        auto why = state_of(i, now);
        if (why.empty()) continue;
        // A connection's own words name its address.
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

// Reactor thread. Tells how things stand, if that is new.
void council::review() {
    health now_is = health::unknown;
    engine::member_set who;  // cannot vote
    std::string why;
    const auto now = boot_clock::now();
    auto next = time_point::max();  // when somebody's quarantine ends
    {
        base::guard lock(mutex_);
        bool all_known = true;
        engine::member_set voters;
        for (std::size_t i = 0; i < size(); ++i) {
            const auto& m = *members_[i];
            const bool votes = would_vote(m, now) && !voters.test(first_of(i));
            if (votes) voters.set(first_of(i));
            who.set(i, !votes);
            all_known = all_known && m.known && m.mark != mark::asked;
            if (const auto from = m.stands.counts_from(); m.up && from > now) next = std::min(next, from);
        }
        const auto there = size() - who.count();
        const auto needed = engine::majority_of(size());
        // While it begins, only what will not get worse is told.
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
        later(std::chrono::ceil<milliseconds>(next - now), &council::review);
    if (now_is == health::whole) told_doubles_.reset();
    tell_doubles();
    if (on_change) on_change();
    if (now_is == health::unknown || (now_is == told_ && (now_is != health::weak || who == told_missing_)))
        return;
    const auto before = std::exchange(told_, now_is);
    told_missing_ = who;
    using change = notice::change;
    if (now_is == health::gone) return tell_({change::link_down, "too few members can vote: " + why, {}});
    if (before == health::unknown || before == health::gone)
        tell_({change::link_up, "a majority of " + std::to_string(size()) + " members can vote", {}});
    if (now_is == health::weak)
        tell_({change::quorum_weak, "one more failure is too many; missing: " + why, {}});
    if (now_is == health::whole && before != health::unknown)
        tell_({change::quorum_whole, "all " + std::to_string(size()) + " members can vote", {}});
}

// Reactor thread. Once for each member, until all are servers of their own.
void council::tell_doubles() {
    engine::member_set found;
    for (std::size_t i = 0; i < size(); ++i) {
        const auto first = first_self(i);
        if (first == i) continue;
        found.set(i);
        found.set(first);
    }
    if ((found & ~told_doubles_).none()) return;
    told_doubles_ |= found;
    tell_({notice::change::quorum_double, doubles() + ": a server has one vote", {}});
}

}  // namespace holdfast::quorum_backend
