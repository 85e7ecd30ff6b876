#include "engine/acquire.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

namespace {

constexpr milliseconds first_retry{20};
constexpr milliseconds least_answer_time{200};

}  // namespace

acquire_action acquire::resume(acquire_event event, time_point now) {
    return std::visit([&](auto&& e) { return on(std::forward<decltype(e)>(e), now); }, std::move(event));
}

acquire_action acquire::on(begun, time_point now) {
    if (how_.expect_queue && how_.listen && !how_.once) return begin_listening(now);
    return attempt(now);
}

acquire_action acquire::on(answered&& event, time_point now) {
    // A late answer to an attempt that timed out says nothing about the present one, and its send time does
    // not count.
    if (state_ != state::asking || event.number != attempts_) return go_on();
    state_ = state::waiting;
    return std::visit([&](const auto& a) { return on_answer(a, now); }, event.answer);
}

acquire_action acquire::on(watched&& event, time_point now) {
    using change = backend::watch_event::change;
    if (state_ == state::done) return go_on();
    switch (event.event.what) {
        case change::watching: listening_ = true; break;
        case change::broken: break;
        case change::refused: listening_ = false; break;
        case change::woken:
            // A message does not say which replicas have the grant: it is only a reason to ask.
            if (auto& ticket = event.event.message.ticket; !ticket.empty() && how_.replicas == 0) {
                if (state_ == state::asking) early_ticket_ = std::move(ticket);
                // A ticket of an earlier attempt proves nothing: others may have held the lock since.
                else if (last_busy_ && ticket == last_busy_->ticket)
                    return handed_over(now);
                return go_on();
            }
            if (state_ == state::waiting && how_.stagger > boot_clock::duration::zero()) {
                const auto pause = how_.stagger / (1 << std::min(messages_++, 10U));
                return wait_until(std::min(now + pause, until_));
            }
            break;
    }
    // Whatever the event was, the lock may be free now. During an attempt, the coming answer may be older.
    if (state_ != state::asking) return attempt(now);
    look_again_ = true;
    return go_on();
}

acquire_action acquire::on(elapsed, time_point now) {
    if (state_ == state::done || now < until_) return go_on();
    switch (state_) {
        case state::asking:
            state_ = state::waiting;
            uncertain_ = last_sent_;
            return no_answer({make_error_code(errc::unknown_outcome), {}}, now);
        case state::waiting:
            if (now >= how_.give_up_at) {
                return silent_since_ || sits_out_ ? stop(last_failure_) : stop({errc::timed_out});
            }
            return attempt(now);
        case state::listening:
            if (last_busy_ && now >= how_.give_up_at) return stop({errc::timed_out});
            return attempt(now);
        case state::done: break;
    }
    return go_on();
}

acquire_action acquire::on(cancelled, time_point) {
    const auto on_its_way = state_ == state::asking ? undo::once : undo::none;
    return stop({errc::cancelled}, on_its_way);
}

acquire_action acquire::on_answer(const backend::granted& a, time_point now) {
    if (a.acks < how_.replicas) {
        return stop({errc::not_replicated,
                     std::to_string(a.acks) + " of " + std::to_string(how_.replicas) + " replicas have it"},
                    undo::once);
    }
    return grant({.deadline = last_sent_.for_at_most(a.lease).deadline(how_.margin),
                  .fence = a.fence,
                  .stray = uncertain_.has_value(),
                  .acks = a.acks,
                  .bound = a.bound,
                  .weaker = a.weaker},
                 std::max(how_.lease, a.kept_for), now);
}

acquire_action acquire::on_answer(const backend::busy& a, time_point now) {
    last_busy_ = a;
    last_busy_sent_ = last_sent_;
    silent_since_.reset();
    sits_out_ = false;
    failures_ = 0;
    if (how_.once || now >= how_.give_up_at) return stop({errc::timed_out});
    if (how_.listen && !listen_asked_) return begin_listening(now);
    if (!a.ticket.empty() && how_.replicas == 0 && std::exchange(early_ticket_, {}) == a.ticket)
        return handed_over(now);
    if (look_again_) return attempt(now);
    auto gap = listening_ ? how_.poll_gap : how_.silent_poll;
    if (a.look_again) gap = std::clamp(*a.look_again, milliseconds{1}, gap);
    return wait_until(std::min(later(now, gap), how_.give_up_at));
}

acquire_action acquire::on_answer(const backend::refused& a, time_point now) {
    if (a.look_again && !how_.once && now < how_.give_up_at) return sit_out(a, now);
    if (a.code == errc::lease_too_short && !how_.once) return no_answer(a, now);
    if (a.code != condition::try_later || how_.once) return stop(a.why());
    // A waiter waits out an outage, whenever it began. If a store works but cannot grant the lock (it has no
    // memory left), new callers get that failure, and callers that already wait go on waiting.
    const bool outage = a.code == errc::unavailable || a.code == errc::busy_server;
    if (!outage && !last_busy_ && !sits_out_) return stop(a.why());
    return no_answer(a, now);
}

// The store may grant earlier, so ask now and then. A store that repeats its answer is believed for no longer
// than an outage would be waited out; a store that needs more time than in its last answer is believed anew.
acquire_action acquire::sit_out(const backend::refused& what, time_point now) {
    if (!sits_out_ || *what.look_again > prospect_)
        believed_until_ = later(now, *what.look_again + how_.patience);
    prospect_ = *what.look_again;
    sits_out_ = true;
    silent_since_.reset();
    failures_ = 0;
    last_failure_ = what.why();
    if (now >= believed_until_) return stop(last_failure_);
    const auto pause = std::clamp(*what.look_again, milliseconds{1}, how_.poll_gap);
    return wait_until(std::min(later(now, pause), how_.give_up_at));
}

acquire_action acquire::on_answer(const backend::unknown& a, time_point now) {
    uncertain_ = last_sent_;
    return no_answer(a, now);
}

// The same owner asks again: if the lost attempt was granted after all, the store says so.
acquire_action acquire::no_answer(const backend::failure& what, time_point now) {
    last_failure_ = what;
    if (!silent_since_) silent_since_ = now;
    const auto enough = how_.once                              ? later(first_sent_, how_.answer_timeout)
                        : how_.give_up_at == time_point::max() ? later(*silent_since_, how_.patience)
                                                               : how_.give_up_at;
    if (now >= enough) return stop(what);
    const auto pause = std::min(first_retry * (1 << std::min(failures_, 10U)), how_.poll_gap);
    ++failures_;
    return wait_until(std::min({later(now, pause), enough, how_.give_up_at}));
}

acquire_action acquire::attempt(time_point now) {
    const auto want = listen_asked_ ? backend::intent::queue : backend::intent::look;
    if (attempts_++ == 0) first_sent_ = now;
    last_sent_ = {now, how_.lease};
    queued_ |= want == backend::intent::queue;
    look_again_ = false;
    state_ = state::asking;
    until_ = later(now, how_.answer_timeout);
    // A caller that waits for less time than an answer may take still gets an answer, if one comes.
    if (!how_.once) until_ = std::min(until_, std::max(how_.give_up_at, later(now, least_answer_time)));
    return send_attempt{want, until_, attempts_};
}

acquire_action acquire::handed_over(time_point now) {
    // The hand-over is for a fixed time; a waiter that wants less gets less.
    const auto handed = last_busy_sent_.for_at_most(last_busy_->handed_lease);
    const auto deadline = handed.deadline(how_.margin);
    // The message was read too late to leave enough of the lease: ask whether the lock is still ours.
    if (deadline - now < handed.lease() / 16) return attempt(now);
    return grant({.deadline = deadline, .claim = true, .stray = uncertain_.has_value()},
                 last_busy_->handed_lease, now);
}

acquire_action acquire::grant(hold_it what, milliseconds kept_for, time_point now) {
    if (what.deadline <= now || (what.bound && what.bound->until() <= now)) {
        // A waiter asks again, with the same owner: the store still has the grant, or gives it anew.
        granted_late_ = true;
        const backend::failure late{errc::lease_too_short};
        return how_.once ? stop(late) : no_answer(late, now);
    }
    state_ = state::done;
    what.in_doubt = look_again_;
    what.expires_by = lease_request{now, kept_for}.expires_by(how_.margin, milliseconds{0});
    // The unanswered attempt may still be carried out, and be handed the lock as this one was.
    if (const auto& r = uncertain_) {
        const lease_request longest{r->sent(), std::max(r->lease(), kept_for)};
        const auto late = carried_out_within(how_.answer_timeout);
        what.expires_by = std::max(what.expires_by, longest.expires_by(how_.margin, late));
    }
    return what;
}

acquire_action acquire::stop(backend::failure why, undo at_least) {
    state_ = state::done;
    auto cleanup = uncertain_ ? undo::insist : queued_ || granted_late_ ? undo::once : undo::none;
    return give_up{std::move(why), std::max(cleanup, at_least),
                   last_busy_ ? last_busy_->holder : std::string{}};
}

acquire_action acquire::begin_listening(time_point now) {
    listen_asked_ = true;
    state_ = state::listening;
    until_ = std::min(later(now, how_.poll_gap), how_.give_up_at);  // poll if it takes longer
    return listen{until_};
}

acquire_action acquire::wait_until(time_point until) {
    state_ = state::waiting;
    until_ = until;
    return wait{until_};
}

}  // namespace holdfast::engine
