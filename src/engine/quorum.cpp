#include "engine/quorum.hpp"

#include <algorithm>

namespace holdfast::engine {

// --- tally ----------------------------------------------------------------------------------------

tally::verdict tally::add(std::size_t server, answer a) noexcept {
    ++answered_;
    if (a == answer::yes) yes_.set(server);
    if (a == answer::silent) silent_.set(server);
    return result();
}

tally::verdict tally::result() const noexcept {
    const auto needed = majority_of(members_);
    const auto open = members_ - answered_;
    const auto yes = yes_.count();
    const auto perhaps = (yes_ | silent_).count();
    if (yes >= needed) return verdict::yes;
    if (perhaps + open < needed) return verdict::no;
    if (yes + open < needed && perhaps >= needed) return verdict::unknown;
    return verdict::open;
}

// --- quorum_attempt -------------------------------------------------------------------------------

member_set quorum_attempt::open() const noexcept {
    member_set all;
    for (std::size_t i = 0; i < how_.members; ++i) all.set(i);
    return all & ~answered_;
}

quorum_attempt::action quorum_attempt::on_vote(std::size_t who, vote what, counts does, fence granted_fence,
                                               time_point now) {
    action a;
    if (answered_.test(who)) return a;
    answered_.set(who);
    switch (what) {
        case vote::granted:
            held_.set(who);
            if (does == counts::yes) counted_.set(who);
            // The fence of a late grant is lower, or the member has already stored its own higher one.
            if (state_ == state::voting) highest_ = std::max(highest_, granted_fence);
            break;
        case vote::busy: busy_.set(who); break;
        case vote::refused: break;
        case vote::silent: silent_.set(who); break;
    }
    switch (state_) {
        case state::voting: judge(a, now); break;
        case state::raising:
            if (what == vote::granted) {
                a.raise.set(who);
                asked_to_raise_.set(who);
            }
            judge_raised(a, now);
            break;
        case state::granted: break;
        case state::failing:
        case state::over:
            // The first undo may have reached the member before the request did.
            if (what == vote::granted || what == vote::silent) a.undo.set(who);
            if (state_ == state::failing) decide_failure(a);
            break;
    }
    return a;
}

quorum_attempt::action quorum_attempt::on_raised(std::size_t who, bool done, time_point now) {
    action a;
    answered_raise_.set(who);
    if (done) raised_.set(who);
    if (state_ == state::raising) judge_raised(a, now);
    return a;
}

quorum_attempt::action quorum_attempt::on_elapsed(time_point now) {
    action a;
    if (now < how_.give_up_at) return a;
    if (state_ == state::voting || state_ == state::raising) fail(a);
    // The time is up: members that have not answered do not count.
    if (state_ == state::failing)
        end(a,
            (counted_ | busy_).count() >= majority() && busy_.any() ? outcome::busy : outcome::unavailable);
    return a;
}

void quorum_attempt::judge(action& a, time_point now) {
    if (now >= deadline_) {
        fail(a);
        return end(a, outcome::too_late);
    }
    if (now >= how_.give_up_at) {
        a = on_elapsed(now);
        return;
    }
    if (counted_.count() >= majority()) {
        if (!how_.fenced) {
            state_ = state::granted;
            a.end = outcome::granted;
            return;
        }
        state_ = state::raising;
        a.raise = asked_to_raise_ = held_;
        return;
    }
    if (counted_.count() + open().count() < majority()) {
        fail(a);
        decide_failure(a);
    }
}

// Only members with our owner token write the fence. Any later majority includes one of them and asks it
// later.
void quorum_attempt::judge_raised(action& a, time_point now) {
    if (now >= deadline_) {
        fail(a);
        return end(a, outcome::too_late);
    }
    if ((raised_ & counted_).count() >= majority()) {
        state_ = state::granted;
        a.end = outcome::granted;
        return;
    }
    const auto coming = ((asked_to_raise_ & ~answered_raise_) | open()).count();
    if ((raised_ & counted_).count() + coming >= majority() && now < how_.give_up_at) return;
    fail(a);
    end(a, outcome::unavailable);
}

// Undoes on all members except those that certainly do not have our owner token.
void quorum_attempt::fail(action& a) {
    state_ = state::failing;
    a.raise.reset();
    a.undo |= held_ | silent_ | open();
}

void quorum_attempt::decide_failure(action& a) {
    const auto asked = (counted_ | busy_).count();
    if (asked >= majority())
        end(a, outcome::busy);
    else if (asked + open().count() < majority())
        end(a, outcome::unavailable);
}

void quorum_attempt::end(action& a, outcome o) {
    state_ = state::over;
    a.end = o;
}

}  // namespace holdfast::engine
