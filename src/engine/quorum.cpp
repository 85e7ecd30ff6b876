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

// --- ballot ---------------------------------------------------------------------------------------

member_set ballot::open() const noexcept {
    member_set all;
    for (std::size_t i = 0; i < how_.members; ++i) all.set(i);
    return all & ~answered_;
}

ballot::action ballot::on_vote(std::size_t who, vote what, counts does, fence token, time_point now) {
    action a;
    if (answered_.test(who)) return a;
    answered_.set(who);
    switch (what) {
        case vote::granted:
            held_.set(who);
            if (does == counts::yes) counted_.set(who);
            // A late one knows a fence that is lower, or writes its own higher one down already.
            if (state_ == state::voting) highest_ = std::max(highest_, token);
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
            // It was undone before its vote was known, perhaps before its question had arrived.
            if (what == vote::granted || what == vote::silent) a.undo.set(who);
            if (state_ == state::failing) explain(a);
            break;
    }
    return a;
}

ballot::action ballot::on_raised(std::size_t who, bool done, time_point now) {
    action a;
    answered_raise_.set(who);
    if (done) raised_.set(who);
    if (state_ == state::raising) judge_raised(a, now);
    return a;
}

ballot::action ballot::on_elapsed(time_point now) {
    action a;
    if (now < how_.give_up_at) return a;
    if (state_ == state::voting || state_ == state::raising) fail(a);
    // Who has not answered by now says nothing.
    if (state_ == state::failing)
        end(a,
            (counted_ | busy_).count() >= majority() && busy_.any() ? outcome::busy : outcome::unavailable);
    return a;
}

void ballot::judge(action& a, time_point now) {
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
        explain(a);
    }
}

// Only where our token is: whoever gets a majority later has one of these members, and asked it later.
void ballot::judge_raised(action& a, time_point now) {
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

// On all members but those that have certainly not got the token.
void ballot::fail(action& a) {
    state_ = state::failing;
    a.raise.reset();
    a.undo |= held_ | silent_ | open();
}

void ballot::explain(action& a) {
    const auto asked = (counted_ | busy_).count();
    if (asked >= majority())
        end(a, outcome::busy);
    else if (asked + open().count() < majority())
        end(a, outcome::unavailable);
}

void ballot::end(action& a, outcome o) {
    state_ = state::over;
    a.end = o;
}

}  // namespace holdfast::engine
