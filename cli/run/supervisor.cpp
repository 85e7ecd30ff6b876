#include "cli/run/supervisor.hpp"

#include "cli/output/exit_codes.hpp"
#include "cli/run/overloaded.hpp"

#include <algorithm>
#include <csignal>

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

// A guard that does not answer by then is replaced: this process can do its work, too.
constexpr milliseconds guard_answers_within{1000};

// A process that slept for most of its lease wakes up with little of it left, and sends a renewal at this
// very moment. We wait this long for that renewal, because the command need not end if it succeeds.
milliseconds benefit_of_the_doubt(milliseconds grace) { return std::min(milliseconds{100}, grace / 4); }

}  // namespace

ending_times ending_times_for(milliseconds ttl, const config& settings) {
    using real = std::chrono::duration<double, std::milli>;
    const auto margin = std::clamp(ttl / 20, milliseconds{10}, milliseconds{500});
    // What is left of the lease when the first renewal is due. A quarter of it is for the renewals.
    const auto room = real{ttl} * (1 - settings.drift - settings.renew_after) - settings.margin;
    return {margin, std::chrono::floor<milliseconds>(room * 0.75) - margin};
}

std::vector<std::size_t> leases_behind(why_ended why, const std::vector<lease_view>& leases) {
    const auto first = std::ranges::min(leases, {}, &lease_view::deadline).deadline;
    const auto is_behind = [&](const lease_view& one) {
        switch (why) {
            case why_ended::lost: return !one.valid;
            case why_ended::not_yet:
            case why_ended::expiring:
            case why_ended::late: return !one.valid || one.jeopardy || one.deadline == first;
            case why_ended::max_hold: return true;
        }
        return true;
    };
    std::vector<std::size_t> behind, all;
    for (std::size_t i = 0; i < leases.size(); ++i) {
        all.push_back(i);
        if (is_behind(leases[i])) behind.push_back(i);
    }
    return behind.empty() ? all : behind;
}

run_action supervisor::resume(const run_event& what, const lease_view& seen, time_point now) {
    run_action action;
    if (seen.valid) {
        moved_ = deadline_ != time_point{} && seen.deadline > deadline_;
        renewed_ = renewed_ || moved_;
        deadline_ = seen.deadline;
        if (moved_) {
            room_ = seen.deadline - now;
            longest_room_ = std::max(longest_room_.value_or(room_), room_);
        }
    }
    // The end of the command comes before the look: there is nothing left to be ended.
    std::visit(overloaded{
                   [&](const looked&) { check_guard_answer(now, action); },
                   [&](const ended& e) { command_ended(e, seen, now, action); },
                   [&](const ended_by_guard&) {
                       if (phase_ != run_phase::guarded) return;
                       end_it(why_ended::late, now, action);
                       action.signal = 0;  // the guard has sent it
                   },
                   [&](const guard_lost&) {
                       if (phase_ != run_phase::guarded && phase_ != run_phase::unguarded &&
                           phase_ != run_phase::ending)
                           return;
                       kill_it(now, action);
                       awaits_guard_ = false;
                   },
                   [&](const guard_kills_it&) { awaits_guard_ = false; },
                   [&](const all_ended&) {
                       if (phase_ != run_phase::clearing) return;
                       phase_ = run_phase::over;
                       action.release = true;
                   },
                   [&](const not_started& e) {
                       ran_ = false;
                       code_ = e.code;
                       phase_ = run_phase::over;
                       action.release = true;
                   },
                   [](const auto&) {},
               },
               what);
    look(seen, now, action);
    // A signal comes after the look: CONT must not wake a command that has lost its lock.
    std::visit(overloaded{
                   [&](const signal_received& e) { forward(e.signal, action); },
                   [&](const stopped&) {
                       action.stop_with_it = phase_ == run_phase::guarded || phase_ == run_phase::unguarded;
                   },
                   [](const auto&) {},
               },
               what);
    return action;
}

void supervisor::look(const lease_view& seen, time_point now, run_action& action) {
    switch (phase_) {
        case run_phase::guarded: look_while_guarded(seen, now, action); break;
        case run_phase::ending:
            if (now >= kill_at()) {
                kill_it(now, action);
            } else {
                action.look_again = kill_at();
            }
            break;
        case run_phase::resting:
            if (!seen.valid) lost_later_ = true;
            if (!seen.valid || now >= held_since_ + rules_.at_least) {
                phase_ = run_phase::over;
                action.release = true;
            } else {
                action.look_again = held_since_ + rules_.at_least;
            }
            break;
        case run_phase::killed:
        case run_phase::clearing:
            if (awaits_guard_) action.look_again = guard_answer_by_.value_or(now);
            break;
        case run_phase::unguarded:
        case run_phase::over: break;
    }
}

void supervisor::look_while_guarded(const lease_view& seen, time_point now, run_action& action) {
    if (!seen.valid) return end_it(why_ended::lost, now, action);

    const auto kill_by = this->kill_by();
    const auto term_by = kill_by - rules_.grace;
    action.look_again = term_by;
    if (now < term_by) {
        late_since_.reset();
    } else {
        if (!late_since_ || moved_) late_since_ = now;
        // A lock that was handed off has a short lease until its first renewal, which is under way: half of
        // that time is for the renewal. So it is with a lease that never lasts for the whole grace, because
        // the store keeps sessions for less: its renewals are due all the time.
        const auto doubt =
            renewed_ && !is_short() ? benefit_of_the_doubt(rules_.grace) : (kill_by - *late_since_) / 2;
        const auto doubt_ends = std::min(*late_since_ + doubt, kill_by);
        if (seen.jeopardy || now >= doubt_ends) {
            if (rules_.policy != on_loss::ignore) return end_it(why_ended::expiring, now, action);
            // Not lost yet, and perhaps never: the command is warned while it still has time to react.
            if (!warned_) action.warn = warned_ = true;
            action.look_again = deadline_;
        } else {
            action.look_again = doubt_ends;
        }
    }

    if (!rules_.max_hold) return;
    const auto hold_until = held_since_ + *rules_.max_hold;
    if (now >= hold_until) return end_it(why_ended::max_hold, now, action);
    action.look_again = std::min(action.look_again, hold_until);
}

void supervisor::end_it(why_ended why, time_point now, run_action& action) {
    why_ = why;
    action.look_again = time_point::max();
    action.warn = true;
    warned_ = true;
    if (rules_.policy == on_loss::ignore) {
        phase_ = run_phase::unguarded;
        return;
    }
    term_at_ = now;
    if (rules_.policy == on_loss::kill || now >= kill_at()) {
        kill_it(now, action);
        return;
    }
    phase_ = run_phase::ending;
    action.signal = SIGTERM;
    action.look_again = kill_at();
}

void supervisor::kill_it(time_point now, run_action& action) {
    phase_ = run_phase::killed;
    action.signal = SIGKILL;
    action.look_again = now;  // the guard's time to answer begins when it has the order
    expect_guard_answer(now);
}

void supervisor::expect_guard_answer(time_point now) noexcept {
    awaits_guard_ = true;
    kill_ordered_at_ = now;
}

// This process may have been suspended itself, before or after it gave the order. A look that began before
// the order says nothing about the guard.
void supervisor::check_guard_answer(time_point now, run_action& action) {
    if (!awaits_guard_ || now < kill_ordered_at_) return;
    if (!guard_answer_by_) guard_answer_by_ = now + guard_answers_within;
    if (now < *guard_answer_by_) return;
    action.replace_guard = true;
    awaits_guard_ = false;
}

// The lease's own end is the limit even for a lease that was taken away earlier: the client that took it away
// knows no better limit.
supervisor::time_point supervisor::kill_at() const noexcept {
    return std::min(term_at_ + rules_.grace, kill_by());
}

// Right after a renewal.
bool supervisor::is_short() const noexcept { return room_ < rules_.margin + rules_.grace; }

supervisor::time_point supervisor::kill_by() const noexcept {
    if (!longest_room_) return deadline_ - rules_.margin;
    return deadline_ - std::min<boot_clock::duration>(rules_.margin, *longest_room_ / 16);
}

void supervisor::forward(int signal, run_action& action) {
    switch (phase_) {
        case run_phase::guarded:
        case run_phase::unguarded:
        case run_phase::ending: action.forward = signal; break;
        case run_phase::resting:
            if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
                interrupted_by_ = signal;
                phase_ = run_phase::over;
                action.release = true;
            } else if (signal == SIGTSTP) {
                action.stop_with_it = true;
            }
            break;
        case run_phase::killed:
        case run_phase::clearing:
        case run_phase::over: break;
    }
}

void supervisor::command_ended(const ended& how, const lease_view& seen, time_point now, run_action& action) {
    code_ = how.code;
    switch (phase_) {
        case run_phase::guarded:
            if (seen.valid) break;
            // A lease that expired was valid until then. One that was taken away may have been lost earlier.
            if (how.at < deadline_ && now >= deadline_) {
                lost_later_ = true;
                break;
            }
            why_ = why_ended::lost;
            action.warn = true;
            // The command is gone, but processes that it started are not, and may ignore TERM.
            if (rules_.policy != on_loss::ignore) action.signal = SIGKILL;
            break;
        case run_phase::ending:
        case run_phase::killed: action.signal = SIGKILL; break;
        case run_phase::unguarded:
        case run_phase::clearing:
        case run_phase::resting:
        case run_phase::over: break;
    }
    const bool rest = why_ == why_ended::not_yet && now < held_since_ + rules_.at_least;
    if (action.signal == SIGKILL) {
        if (phase_ != run_phase::killed) expect_guard_answer(now);
        phase_ = run_phase::clearing;
    } else {
        phase_ = rest ? run_phase::resting : run_phase::over;
        action.release = !rest;
    }
}

supervisor::limits supervisor::limits_for_guard(time_point now) const noexcept {
    const auto kill_by = this->kill_by();
    // This process sends TERM when the whole grace is left, or a little later. It has half of the grace for
    // that.
    const auto late = std::min<boot_clock::duration>(rules_.grace / 2, (kill_by - now) / 4);
    return {kill_by - std::max(late, boot_clock::duration{0}), kill_by};
}

void supervisor::released(bool already_lost) noexcept {
    if (!already_lost || !ran_ || why_ != why_ended::not_yet) return;
    // The code of a failed command is passed on if the lock outlived the command. A success counts only if
    // the store says that the lock was held to the end.
    if (lost_later_ && code_ != 0) return;
    why_ = why_ended::lost;
}

int supervisor::exit_code() const noexcept {
    if (why_ != why_ended::not_yet) return exit_code::lost;
    if (interrupted_by_ != 0) return exit_code::by_signal(interrupted_by_);
    return code_;
}

}  // namespace holdfast::cli
