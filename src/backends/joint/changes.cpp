// What happens when the arbiter confirms the mode, or says that it is another one.
#include "backends/joint/round.hpp"
#include "backends/joint/watching.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace holdfast::joint_backend {

namespace {

engine::lease_request mode_lease_from(time_point asked, milliseconds mode_lease) {
    return {asked, mode_lease};
}

}  // namespace

void core::on_mode(const confirmed_mode& now_confirmed) {
    std::vector<hold_ptr> to_move;
    std::vector<std::shared_ptr<round>> waited;
    std::string changed, back;
    std::optional<failure> lost_changes;
    std::optional<notice> link;
    {
        const base::guard lock(mutex_);
        const auto& r = now_confirmed.what;
        const bool is_other = mode_ && r.epoch == mode_->epoch && r.needed != mode_->needed;
        if (is_other || (mode_ && r.epoch < mode_->epoch && now_confirmed.asked > learned_))
            lost_changes = {make_error_code(errc::unavailable),
                            "it has lost changes: this client knows number " + std::to_string(mode_->epoch) +
                                ", and it has number " + std::to_string(r.epoch),
                            {}};
    }
    if (lost_changes) return on_failure(*lost_changes);
    {
        const base::guard lock(mutex_);
        const auto& r = now_confirmed.what;
        if (mode_ && r.epoch < mode_->epoch) return;  // answers may overtake each other
        const auto now = boot_clock::now();
        const bool is_new = !mode_ || r.epoch != mode_->epoch;
        if (is_new && mode_) {
            changed = in_words(r.needed) + (r.is_joint() ? " are used together" : " is used");
            if (!r.history.empty() && !r.history.back().author.by.empty())
                changed += ", says " + r.history.back().author.by;
            if (!r.history.empty() && !r.history.back().author.reason.empty())
                changed += ": " + r.history.back().author.reason;
        }
        if (arbiter_came_back()) back = place_of_arbiter();
        if (is_new) {
            mode_ = r;
            learned_ = now;
            asked_ = now_confirmed.asked;
            forget_passed_sessions(now);
            leave_other_levels();
            watch_anew();
            link = news_of_link();
        }
        asked_ = std::max(asked_, now_confirmed.asked);
        follow_sessions(now);
        for (const auto& h : holds_.all())
            if (h->counts(now) && !h->moves && !h->holds_all(mode_->needed)) {
                h->moves = true;
                to_move.push_back(h);
            }
        free_what_is_over(now);
        extend_bound(now);
        if (may_grant(now)) waited = std::exchange(waiting_, {});
    }
    if (!back.empty()) given_.notify({.what = notice::change::source_up, .detail = back});
    if (!changed.empty()) {
        given_.notify({.what = notice::change::switched, .detail = changed});
        given_.notify({.what = notice::change::bounds_moved});
    }
    if (link) given_.notify(*link);
    for (const auto& h : to_move) move(h);
    for (const auto& to : waited) {
        given_.reactor.cancel(to->timer);
        next_level(to);
    }
}

bool core::arbiter_came_back() {
    unusable_ = false;
    why_none_ = {};
    return std::exchange(arbiter_is_down_, false);
}

void core::on_answer_of_arbiter() {
    const bool back = [&] {
        const base::guard lock(mutex_);
        return arbiter_came_back();
    }();
    if (back) given_.notify({.what = notice::change::source_up, .detail = place_of_arbiter()});
}

void core::on_failure(const failure& why) {
    bool is_new = false;
    std::string detail;
    {
        const base::guard lock(mutex_);
        why_none_ = why;
        unusable_ = why.code == errc::invalid_argument;
        is_new = !std::exchange(arbiter_is_down_, true);
        detail = place_of_arbiter() + ": " + why.in_one();
    }
    if (is_new) given_.notify({.what = notice::change::source_down, .detail = detail, .reason = why.code});
}

// Holders leave the levels that the mode does not need any more. Waiters leave all levels, because an attempt
// ends with the mode in which it began: if this client has slept through several modes, what the attempt got
// may be older than what others were granted since.
void core::leave_other_levels() {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < size(); ++i)
        if (std::ranges::find(mode_->needed, i) == mode_->needed.end()) others.push_back(i);
    for (const auto& h : holds_.all()) {
        if (h->gone) continue;
        if (h->granted || h->over)
            free_parts(h, others);
        else
            free_all_parts(h);
    }
}

// Only while every lease that may be valid is held where the mode needs it: it is the bound of all of them.
void core::extend_bound(time_point now) {
    if (!mode_ || unusable_) return;
    for (const auto& h : holds_.all())
        if (h->counts(now) && !h->holds_all(mode_->needed)) return;
    const auto until = mode_lease_from(asked_, wanted.mode_lease).deadline(margin_);
    if (until <= now) return;
    if (bound_ && bound_->until() > now) return bound_->extend(until, now);
    forget_passed_sessions(now);
    bound_ = std::make_shared<bound>(until);
    follow_sessions(now);
}

// Leases that a level ends with the client's session there end with it here.
bool core::follow_sessions(time_point now) {
    bool moved = false;
    if (!mode_ || !bound_) return moved;
    for (std::size_t k = 0; k < 2; ++k)
        moved |=
            bound_->end_with(k, k < mode_->needed.size() ? levels_[mode_->needed[k]]->session : nullptr, now);
    return moved;
}

// No lease that may be valid has used them: it would have ended with them.
void core::forget_passed_sessions(time_point now) {
    for (const auto& l : levels_)
        if (l->session && l->session->until() <= now) l->session = nullptr;
}

// The locks of leases that nobody released, and of waiters that do not ask any more.
void core::free_what_is_over(time_point now) {
    for (const auto& h : holds_.all()) {
        const bool lost = h->granted && !h->over && !h->counts(now);
        if (h->open > 0 || !h->watched.expired()) continue;
        if (h->until > now && (h->gone || !lost)) continue;  // gone: its release is under way, or is repeated
        h->gone = true;
        free_all_parts(h);
        holds_.remove(h);
    }
    const base::guard lock(names_mutex_);
    std::erase_if(undone_, [&](const auto& one) { return one.second <= now; });
}

void core::look_at_bound() {
    std::vector<std::shared_ptr<round>> waited;
    {
        const base::guard lock(mutex_);
        const auto now = boot_clock::now();
        extend_bound(now);
        if (may_grant(now)) waited = std::exchange(waiting_, {});
    }
    for (const auto& to : waited) {
        given_.reactor.cancel(to->timer);
        next_level(to);
    }
}

}  // namespace holdfast::joint_backend
