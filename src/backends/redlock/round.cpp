#include "backends/redlock/round.hpp"

#include "backends/redlock/fan_out.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::redlock_backend {

using namespace backend;
using engine::quorum_attempt;
using engine::vote;

void round::begin() {
    members_->begin_locking();
    consider(boot_clock::now());
}

void round::on_members_changed() { consider(boot_clock::now()); }

void round::consider(time_point now) {
    auto status = members_->status(now);
    // Members that are just being connected have no vote yet. Without them an attempt may fail that would
    // succeed a moment later.
    const auto met_by = begun_ + members_->wanted.node_timeout;
    const bool meets = status.what == members::quorum_state::enough && status.more_may_come && now < met_by;
    bool again = false;
    {
        base::guard lock(mutex_);
        if (stage_ != stage::waiting) return;
        // A connection that was lost is often back at once.
        auto until = deadline_;
        if (meets) until = std::min(deadline_, met_by);
        if (status.what == members::quorum_state::too_few)
            until = std::min(deadline_, now + members_->wanted.node_timeout);
        const bool patient = meets || status.what == members::quorum_state::undecided ||
                             status.what == members::quorum_state::too_few;
        const bool sooner = !until_ || (now < *until_ && until < *until_);
        // The time for too few members is over, and some have come since.
        const bool longer = until_ && now >= *until_ && *until_ < deadline_ &&
                            status.what == members::quorum_state::undecided;
        if (patient && !sooner && !longer && now < *until_) return;
        again = patient && (sooner || longer);
        if (again) {
            if (until_) timeouts_.remove(*this, *until_);
            until_ = until;
            timeouts_.add(shared_from_this(), until);
        }
    }
    // The members may have changed before the time-out was registered.
    if (again) return consider(boot_clock::now());
    switch (status.what) {
        case members::quorum_state::enough: return ask_all(now);
        case members::quorum_state::misconfigured:
        case members::quorum_state::undecided:
        case members::quorum_state::too_few: return finish(std::move(status.why));
    }
}

void round::ask_all(time_point now) {
    const auto give_up_at = std::min(now + members_->wanted.node_timeout, deadline_);
    {
        base::guard lock(mutex_);
        if (stage_ != stage::waiting) return;
        stage_ = stage::asking;
        sent_ = now;
        attempt_.emplace(engine::quorum_attempt_settings{
            members_->size(), engine::lease_request{now, what_.lease}, members_->clock_margin,
            what_.key.of == kind::native_fenced, give_up_at});
        if (until_) timeouts_.remove(*this, *until_);
        until_ = give_up_at;
        timeouts_.add(shared_from_this(), give_up_at);
    }
    const auto self = shared_from_this();
    for (std::size_t i = 0; i < members_->size(); ++i)
        members_->store(i).attempt(what_, give_up_at,
                                   [self, i](const attempt_answer& a) { self->on_vote(i, a); });
}

void round::on_vote(std::size_t who, const attempt_answer& answer) {
    const auto now = boot_clock::now();
    // Judged now and not as of the request: the member may have restarted since then.
    const auto counts = members_->counts(who, now);
    auto server = members_->server_of(who);
    quorum_attempt::action a;
    bool still_coming = false;
    bool late = false;
    {
        base::guard lock(mutex_);
        const auto what = read(who, answer);
        voted_.set(who);
        const auto* yes = std::get_if<granted>(&answer);
        const bool first =
            yes != nullptr && counts == quorum_attempt::counts::yes && voters_.insert(std::move(server));
        if (first) lease_ = std::min(lease_, yes->lease);
        a = attempt_->on_vote(who, what, first ? quorum_attempt::counts::yes : quorum_attempt::counts::no,
                              yes != nullptr ? yes->fence : fence::none, now);
        still_coming = granted_ && what == vote::silent;
        late = granted_ && what != vote::silent;
    }
    if (late) members_->late.forget(what_.owner, who);
    if (still_coming) members_->late.remember(what_.owner, who);
    carry_out(a, now);
}

vote round::read(std::size_t who, const attempt_answer& answer) {
    if (std::holds_alternative<granted>(answer)) return vote::granted;
    if (const auto* theirs = std::get_if<busy>(&answer)) {
        if (!theirs->holder.empty()) holder_ = theirs->holder;
        return vote::busy;
    }
    const auto* no = std::get_if<refused>(&answer);
    add_error(who, no != nullptr ? no->why() : std::get<unknown>(answer));
    return no != nullptr ? vote::refused : vote::silent;
}

void round::add_error(std::size_t who, const failure& why) {
    errors_.add(base::printable(members_->address(who)), why);
}

// Whether the time for answers is over.
bool round::waited(time_point now) const {
    return now >= std::min(sent_ + members_->wanted.node_timeout, deadline_);
}

// How many more votes a majority needs. If the attempt ended before the time was over, members that have not
// answered might still have granted.
std::size_t round::wanting(time_point now) const {
    auto had = attempt_->votes().count();
    if (!waited(now)) had += members_->size() - voted_.count();
    const auto needed = engine::majority_of(members_->size());
    return needed - std::min(needed, had);
}

// For people: errors of members, grants that do not count, and members that did not answer in time.
std::string round::what_was_missing(time_point now, const std::string& uncounted) const {
    std::string silent;
    for (std::size_t i = 0; i < members_->size() && waited(now); ++i) {
        if (voted_.test(i)) continue;
        silent.append(silent.empty() ? "no answer from " : ", ")
            .append(base::printable(members_->address(i)));
    }
    std::string all;
    for (const auto& one :
         {std::string_view{errors_.text()}, std::string_view{uncounted}, std::string_view{silent}})
        if (!one.empty()) all.append(all.empty() ? "" : "; ").append(one);
    return all;
}

void round::on_raised(std::size_t who, const adjust_answer& answer) {
    const auto now = boot_clock::now();
    const auto* said = std::get_if<adjusted>(&answer);
    quorum_attempt::action a;
    {
        base::guard lock(mutex_);
        if (const auto* no = std::get_if<refused>(&answer)) add_error(who, *no);
        if (const auto* no = std::get_if<unknown>(&answer)) add_error(who, *no);
        a = attempt_->on_raised(who, said != nullptr && said->value == 1, now);
    }
    carry_out(a, now);
}

void round::on_timeout() {
    const auto now = boot_clock::now();
    quorum_attempt::action a;
    {
        base::guard lock(mutex_);
        if (stage_ == stage::asking) {
            if (until_ && now >= *until_) timeouts_.remove(*this, *std::exchange(until_, std::nullopt));
            a = attempt_->on_elapsed(now);
        }
    }
    consider(now);
    carry_out(a, now);
}

void round::close() { finish(refused{{make_error_code(errc::closed), "the client is being destroyed"}}); }

void round::carry_out(const quorum_attempt::action& a, time_point now) {
    std::optional<attempt_answer> end;
    engine::member_set uncertain;
    engine::member_set voted;
    fence highest = fence::none;
    {
        base::guard lock(mutex_);
        if (!attempt_) return;
        uncertain = attempt_->uncertain();
        highest = attempt_->highest();
        if (a.end) {
            granted_ = *a.end == quorum_attempt::outcome::granted;
            voted = voted_;
            end = answer(*a.end, now);
        }
    }
    // A script that a member did not know is sent again, perhaps after the release.
    if (end && std::holds_alternative<granted>(*end)) {
        for (std::size_t i = 0; i < members_->size(); ++i)
            if (!voted.test(i)) members_->late.remember(what_.owner, i);
    }
    const auto self = shared_from_this();
    for (std::size_t i = 0; i < members_->size(); ++i) {
        if (a.undo.test(i)) members_->undo_grant(i, what_.key, what_.owner, what_.lease, uncertain.test(i));
        if (a.raise.test(i) && !members_->closed()) {
            members_->counters_of(i).adjust(
                {what_.key, adjustment::raise_fence, static_cast<std::int64_t>(to_number(highest)),
                 owner_id{}, what_.owner},
                deadline_, [self, i](const adjust_answer& said) { self->on_raised(i, said); });
        }
    }
    if (end) finish(std::move(*end));
}

attempt_answer round::answer(quorum_attempt::outcome o, time_point now) {
    switch (o) {
        case quorum_attempt::outcome::granted: return granted{lease_, attempt_->highest()};
        case quorum_attempt::outcome::busy: return busy{holder_, pause(now), {}, {}};
        case quorum_attempt::outcome::too_late:
            return refused{{make_error_code(errc::lease_too_short), "the members answered too late"}};
        case quorum_attempt::outcome::unavailable: break;
    }
    if (errors_.worst() == condition::misuse) return refused{{errors_.worst(), what_was_missing(now)}};
    if (auto status = members_->status(now); status.what != members::quorum_state::enough)
        return std::move(status.why);
    const auto uncounted = members_->why_uncounted(attempt_->uncounted(), wanting(now), sent_);
    std::string text = "too few members could grant it";
    if (waited(now))
        text = std::string{"too few members "} + (uncounted.why.empty() ? "" : "that can vote ") +
               "have answered within node_timeout (" + base::to_text(members_->wanted.node_timeout) + ")";
    text += ": " + what_was_missing(now, uncounted.why);
    if (!uncounted.over_at) return refused{{errc::unavailable, std::move(text)}};
    const auto left = std::max(*uncounted.over_at - now, boot_clock::duration::zero());
    return refused{{errc::quarantined, std::move(text)}, std::chrono::ceil<milliseconds>(left)};
}

// No message tells when the lock is free. Clients that split the votes are kept apart by chance: each waits
// for at least the time that a majority takes.
milliseconds round::pause(time_point now) {
    using fine = std::chrono::duration<double, std::milli>;
    const fine took = now - sent_;
    const fine gap{static_cast<double>(members_->settings.redis.silent_poll.count())};
    const fine wait = attempt_->split() ? took + (3 * took + fine{4}) * base::jitter()
                                        : std::max(took, gap * 0.5) + gap * 0.5 * base::jitter();
    return std::chrono::ceil<milliseconds>(wait);
}

void round::finish(attempt_answer answer) {
    {
        base::guard lock(mutex_);
        if (std::exchange(stage_, stage::over) == stage::over) return;
        if (until_) timeouts_.remove(*this, *std::exchange(until_, std::nullopt));
    }
    done_(std::move(answer));
}

}  // namespace holdfast::redlock_backend
