#include "backends/quorum/round.hpp"

#include "backends/quorum/poll.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::quorum_backend {

using namespace backend;
using engine::ballot;
using engine::vote;

void round::begin() {
    members_->want();
    consider(boot_clock::now());
}

void round::on_change() { consider(boot_clock::now()); }

void round::consider(time_point now) {
    auto outlook = members_->look(now);
    // Members that are just being met have no vote yet, and without theirs it may fail that would succeed a
    // moment later.
    const auto met_by = begun_ + members_->wanted.node_timeout;
    const bool meets = outlook.what == council::prospects::good && outlook.others_come && now < met_by;
    bool again = false;
    {
        base::guard lock(mutex_);
        if (stage_ != stage::waiting) return;
        // A connection that was lost is often back at once.
        auto until = deadline_;
        if (meets) until = std::min(deadline_, met_by);
        if (outlook.what == council::prospects::poor)
            until = std::min(deadline_, now + members_->wanted.node_timeout);
        const bool patient =
            meets || outlook.what == council::prospects::soon || outlook.what == council::prospects::poor;
        const bool sooner = !until_ || (now < *until_ && until < *until_);
        // It was given up for poor, and some have come since.
        const bool longer =
            until_ && now >= *until_ && *until_ < deadline_ && outlook.what == council::prospects::soon;
        if (patient && !sooner && !longer && now < *until_) return;
        again = patient && (sooner || longer);
        if (again) {
            if (until_) docket_.leave(*this, *until_);
            until_ = until;
            docket_.enter(shared_from_this(), until);
        }
    }
    // Something may have changed before it was in the docket.
    if (again) return consider(boot_clock::now());
    switch (outlook.what) {
        case council::prospects::good: return ask_all(now);
        case council::prospects::misuse:
        case council::prospects::soon:
        case council::prospects::poor: return finish(std::move(outlook.why));
    }
}

void round::ask_all(time_point now) {
    const auto give_up_at = std::min(now + members_->wanted.node_timeout, deadline_);
    {
        base::guard lock(mutex_);
        if (stage_ != stage::waiting) return;
        stage_ = stage::asking;
        sent_ = now;
        ballot_.emplace(engine::ballot_settings{members_->size(), engine::lease_request{now, what_.lease},
                                                members_->trust, what_.key.of == kind::native_fenced,
                                                give_up_at});
        if (until_) docket_.leave(*this, *until_);
        until_ = give_up_at;
        docket_.enter(shared_from_this(), give_up_at);
    }
    const auto self = shared_from_this();
    for (std::size_t i = 0; i < members_->size(); ++i)
        members_->store(i).attempt(what_, give_up_at,
                                   [self, i](const attempt_answer& a) { self->on_vote(i, a); });
}

void round::on_vote(std::size_t who, const attempt_answer& answer) {
    const auto now = boot_clock::now();
    // As of now, and not of when it was asked: it may have been started anew in between.
    const auto counts = members_->counts(who, now);
    auto server = members_->server_of(who);
    ballot::action a;
    bool stray = false;
    bool late = false;
    {
        base::guard lock(mutex_);
        const auto what = read(who, answer);
        voted_.set(who);
        const auto* yes = std::get_if<granted>(&answer);
        const bool first =
            yes != nullptr && counts == ballot::counts::yes && voters_.enter(std::move(server));
        a = ballot_->on_vote(who, what, first ? ballot::counts::yes : ballot::counts::no,
                             yes != nullptr ? yes->token : fence::none, now);
        stray = granted_ && what == vote::silent;
        late = granted_ && what != vote::silent;
    }
    if (late) members_->take_stray(what_.owner, who);
    if (stray) members_->remember_stray(what_.owner, who);
    obey(a, now);
}

vote round::read(std::size_t who, const attempt_answer& answer) {
    if (std::holds_alternative<granted>(answer)) return vote::granted;
    if (const auto* theirs = std::get_if<busy>(&answer)) {
        if (!theirs->holder.empty()) holder_ = theirs->holder;
        return vote::busy;
    }
    const auto* no = std::get_if<refused>(&answer);
    object(who, no != nullptr ? no->why() : std::get<unknown>(answer));
    return no != nullptr ? vote::refused : vote::silent;
}

void round::object(std::size_t who, const failure& why) {
    objections_.add(base::printable(members_->address(who)), why);
}

// As long as members are given for their answers.
bool round::waited(time_point now) const {
    return now >= std::min(sent_ + members_->wanted.node_timeout, deadline_);
}

// How many more would have made a majority. Before the time is over it was given up because of those who have
// answered, and the others may still have said yes.
std::size_t round::wanting(time_point now) const {
    auto had = ballot_->votes().count();
    if (!waited(now)) had += members_->size() - voted_.count();
    const auto needed = engine::majority_of(members_->size());
    return needed - std::min(needed, had);
}

// What members said instead of yes or no, whose yes does not count, and who has said nothing though there was
// time for it.
std::string round::what_was_missing(time_point now, const std::string& doubts) const {
    std::string silent;
    for (std::size_t i = 0; i < members_->size() && waited(now); ++i) {
        if (voted_.test(i)) continue;
        silent.append(silent.empty() ? "no answer from " : ", ")
            .append(base::printable(members_->address(i)));
    }
    std::string all;
    for (const auto& one :
         {std::string_view{objections_.text()}, std::string_view{doubts}, std::string_view{silent}})
        if (!one.empty()) all.append(all.empty() ? "" : "; ").append(one);
    return all;
}

void round::on_raised(std::size_t who, const adjust_answer& answer) {
    const auto now = boot_clock::now();
    const auto* said = std::get_if<adjusted>(&answer);
    ballot::action a;
    {
        base::guard lock(mutex_);
        if (const auto* no = std::get_if<refused>(&answer)) object(who, *no);
        if (const auto* no = std::get_if<unknown>(&answer)) object(who, *no);
        a = ballot_->on_raised(who, said != nullptr && said->value == 1, now);
    }
    obey(a, now);
}

void round::on_elapsed() {
    const auto now = boot_clock::now();
    ballot::action a;
    {
        base::guard lock(mutex_);
        if (stage_ == stage::asking) {
            if (until_ && now >= *until_) docket_.leave(*this, *std::exchange(until_, std::nullopt));
            a = ballot_->on_elapsed(now);
        }
    }
    consider(now);
    obey(a, now);
}

void round::close() { finish(refused{{make_error_code(errc::closed), "the client is being destroyed"}}); }

void round::obey(const ballot::action& a, time_point now) {
    std::optional<attempt_answer> end;
    engine::member_set uncertain;
    engine::member_set voted;
    fence highest = fence::none;
    {
        base::guard lock(mutex_);
        if (!ballot_) return;
        uncertain = ballot_->uncertain();
        highest = ballot_->highest();
        if (a.end) {
            granted_ = *a.end == ballot::outcome::granted;
            voted = voted_;
            end = answer(*a.end, now);
        }
    }
    // A script that a member did not know is sent again, perhaps behind the release.
    if (end && std::holds_alternative<granted>(*end)) {
        for (std::size_t i = 0; i < members_->size(); ++i)
            if (!voted.test(i)) members_->remember_stray(what_.owner, i);
    }
    const auto self = shared_from_this();
    for (std::size_t i = 0; i < members_->size(); ++i) {
        if (a.undo.test(i)) members_->give_back(i, what_.key, what_.owner, what_.lease, uncertain.test(i));
        if (a.raise.test(i) && !members_->closed()) {
            members_->store(i).adjust(
                {what_.key, adjustment::raise_fence, static_cast<std::int64_t>(to_number(highest)),
                 owner_id{}, what_.owner},
                deadline_, [self, i](const adjust_answer& said) { self->on_raised(i, said); });
        }
    }
    if (end) finish(std::move(*end));
}

attempt_answer round::answer(ballot::outcome o, time_point now) {
    switch (o) {
        case ballot::outcome::granted: return granted{ballot_->highest(), false};
        case ballot::outcome::busy: return busy{holder_, pause(now), {}, {}};
        case ballot::outcome::too_late:
            return refused{{make_error_code(errc::lease_too_short), "the members answered too late"}};
        case ballot::outcome::unavailable: break;
    }
    if (objections_.gravest() == condition::misuse)
        return refused{{objections_.gravest(), what_was_missing(now)}};
    if (auto outlook = members_->look(now); outlook.what != council::prospects::good)
        return std::move(outlook.why);
    const auto doubts = members_->about(ballot_->doubted(), wanting(now), sent_);
    std::string text = "too few members could grant it";
    if (waited(now))
        text = std::string{"too few members "} + (doubts.why.empty() ? "" : "that can vote ") +
               "have answered within node_timeout (" + base::to_text(members_->wanted.node_timeout) + ")";
    text += ": " + what_was_missing(now, doubts.why);
    if (!doubts.over_at) return refused{{errc::unavailable, std::move(text)}};
    const auto left = std::max(*doubts.over_at - now, boot_clock::duration::zero());
    return refused{{errc::quarantined, std::move(text)}, std::chrono::ceil<milliseconds>(left)};
}

// Nobody says when the lock is free. Those who have split the votes among them are kept apart by chance: each
// stays away for at least the time that a majority takes.
milliseconds round::pause(time_point now) {
    using fine = std::chrono::duration<double, std::milli>;
    const fine took = now - sent_;
    const fine gap{static_cast<double>(members_->settings.silent_poll.count())};
    const fine wait = ballot_->split() ? took + (3 * took + fine{4}) * base::jitter()
                                       : std::max(took, gap * 0.5) + gap * 0.5 * base::jitter();
    return std::chrono::ceil<milliseconds>(wait);
}

void round::finish(attempt_answer answer) {
    {
        base::guard lock(mutex_);
        if (std::exchange(stage_, stage::over) == stage::over) return;
        if (until_) docket_.leave(*this, *std::exchange(until_, std::nullopt));
    }
    done_(std::move(answer));
}

}  // namespace holdfast::quorum_backend
