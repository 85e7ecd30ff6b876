#include "session/pursuit.hpp"

#include "base/random.hpp"
#include "session/core.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::session {

namespace {

failed closed() { return {errc::closed, "the client was destroyed", {}}; }

void count(observe::counters& c, const backend::attempt_answer& answer) {
    if (std::holds_alternative<backend::granted>(answer))
        c.granted.add();
    else if (std::holds_alternative<backend::busy>(answer))
        c.busy.add();
    else if (std::holds_alternative<backend::refused>(answer))
        c.refused.add();
    else
        c.unknown.add();
}

}  // namespace

pursuit::pursuit(std::shared_ptr<cell> of, acquisition how, callback<void()> poke)
    : cell_(std::move(of)),
      core_(cell_->client()),
      how_(std::move(how)),
      me_(std::make_shared<waiter>(cell_->terms_of(how_), how_.by_thread ? this_thread() : nullptr,
                                   boot_clock::now(), std::move(poke))) {}

pursuit::~pursuit() {
    if (stage_ == stage::outside || stage_ == stage::over) return;
    // An exception left it unfinished, for example for lack of memory.
    take_back();
    cell_->leave(me_);
}

void pursuit::take_back() noexcept try {
    if (!contest_ || contest_->asked == 0 || contest_->request.owner.empty()) return;
    const auto& r = contest_->request;
    core_.undo(r.key, r.owner, r.lease, true);
} catch (const std::exception&) {  // still no memory: the lease ends by itself
}

void pursuit::wait() { me_->wait(until_, contest_ && contest_->asking ? &core_.store() : nullptr); }

std::optional<pursuit::outcome> pursuit::advance() {
    me_->look();
    auto end = go_on(boot_clock::now());
    if (!end) return end;
    const bool stood = std::exchange(stage_, stage::over) != stage::outside;
    me_->close();
    contest_.reset();
    if (const auto* no = std::get_if<failed>(&*end)) {
        if (stood) cell_->leave(me_);
        if (!core_.usable()) return closed();
        if (no->why == errc::timed_out)
            core_.counts.not_acquired.add();
        else
            core_.counts.failed.add();
    }
    return end;
}

std::optional<pursuit::outcome> pursuit::go_on(time_point now) {
    if (stage_ == stage::outside) {
        if (auto end = arrive()) return end;
    } else if (stage_ == stage::in_line) {
        if (auto end = stand_in_line(now)) return end;
    }
    if (stage_ == stage::in_line) return std::nullopt;
    if (stage_ == stage::pausing) {
        if (now < until_ && !me_->has_event()) return std::nullopt;
        stage_ = stage::at_the_store;
    }
    return contend(now);
}

// --- in the queue -----------------------------------------------------------------------------------
// The threads and tasks of one process queue; only the head asks the store, or gets the lock by a hand-off.

std::optional<pursuit::outcome> pursuit::arrive() {
    base::guard lock(cell_->mutex_);
    if (!core_.usable()) return closed();  // cell::turn_away() has already run
    if (me_->has_event()) return give_up_in_line();
    const bool first = how_.give_up_at ? cell_->gate_.enter(me_) : cell_->gate_.try_enter(me_);
    if (first) {
        at_the_head();
    } else if (how_.give_up_at) {
        stage_ = stage::in_line;
        until_ = *how_.give_up_at;
    } else {
        return failed{errc::timed_out, {}, {}};
    }
    return std::nullopt;
}

std::optional<pursuit::outcome> pursuit::stand_in_line(time_point now) {
    base::guard lock(cell_->mutex_);
    if (const auto t = std::exchange(me_->passed_on, nullptr)) {
        if (t->valid()) {
            return hold_of(t);
        }
        // This thread was stopped until nothing was left of the lease; back into the queue.
        lock.unlock();
        core_.lose(t, "its time was over before the thread that it was passed on to ran");
        cell_->on_lost(t);
        if (core_.usable()) core_.free_what_is_over(t);
        lock.lock();
        stage_ = stage::outside;
        if (!core_.usable()) return closed();
        stage_ = stage::in_line;
        if (cell_->gate_.enter(me_)) at_the_head();
        return std::nullopt;
    }
    if (cell_->gate_.may_ask(me_)) {
        at_the_head();
    } else if (me_->has_event() || now >= until_) {
        // Leave under the mutex: without it the lock might still be handed off to us.
        (void)cell_->gate_.leave(me_);
        stage_ = stage::outside;
        return give_up_in_line();
    }
    return std::nullopt;
}

pursuit::outcome pursuit::give_up_in_line() {
    if (me_->has_event()) return cell_->describe({errc::cancelled}, {});  // no other event comes here
    return cell_->not_had();
}

// If waiters of other processes were just notified that the lock is free, this caller pauses: one that comes
// back at once would always win.
void pursuit::at_the_head() {
    stage_ = stage::pausing;
    until_ = how_.give_up_at ? std::min(cell_->not_before_, *how_.give_up_at) : time_point{};
    expect_queue_ = std::exchange(cell_->expect_queue_, false);
}

// --- at the store -----------------------------------------------------------------------------------

void pursuit::begin_contest() {
    const auto& key = cell_->key_;
    const auto& settings = core_.settings;
    auto& store = core_.store();
    engine::acquire_settings rules;
    rules.lease = me_->wants.lease;
    rules.replicas = me_->wants.replicas.at_least;
    rules.trust = core_.trust();
    rules.once = !how_.give_up_at;
    rules.give_up_at = how_.give_up_at.value_or(time_point::max());
    rules.listen = !how_.poll && store.has().ask_every == milliseconds{0};
    if (store.wakes_all(key.of)) {
        rules.stagger =
            std::chrono::duration_cast<boot_clock::duration>(store.statistics().round_trip * base::jitter());
    }
    rules.poll_gap = settings.poll_gap;
    rules.silent_poll = std::max(settings.silent_poll, store.has().ask_every);
    if (store.has().votes) {
        // The store says how long to wait, so that two clients that split the votes do not collide again.
        const auto far = std::chrono::ceil<std::chrono::milliseconds>(8 * store.statistics().round_trip);
        rules.silent_poll = std::max(rules.silent_poll, far);
    }
    rules.patience = settings.patience;
    rules.answer_timeout = settings.answer_timeout;
    rules.expect_queue = expect_queue_;
    contest_.emplace(rules, backend::attempt_request{key, store.new_owner(key.of, how_.permits), rules.lease,
                                                     backend::intent::look, how_.permits, how_.total,
                                                     how_.beside, me_->wants.replicas});
}

std::optional<pursuit::outcome> pursuit::contend(time_point now) {
    std::optional<engine::acquire_event> event;
    if (contest_) {
        event = me_->take();
    } else {
        begin_contest();
        event = engine::begun{};
    }
    for (;;) {
        if (!event && now >= until_) event = engine::elapsed{};
        if (!event) return std::nullopt;
        // A late answer to an earlier attempt leaves the last one open.
        if (const auto* said = std::get_if<engine::answered>(&*event);
            said && said->number == contest_->asked) {
            contest_->asking = false;
            // If the grant is accepted, no further attempt follows.
            contest_->may_be_granted = std::holds_alternative<backend::granted>(said->answer) ||
                                       std::holds_alternative<backend::unknown>(said->answer);
        }
        if (auto end = obey(contest_->machine.resume(std::move(*event), now), now)) return end;
        // The event may have come long ago: this thread may have been stopped.
        now = boot_clock::now();
        event = me_->take();
    }
}

std::optional<pursuit::outcome> pursuit::obey(engine::acquire_action action, time_point now) {
    auto& at = *contest_;
    auto& store = core_.store();
    if (const auto* a = std::get_if<engine::ask>(&action)) {
        until_ = a->until;
        at.request.want = a->want;
        if (a->number > 1 && store.has().votes) {
            if (at.may_be_granted) core_.undo(at.request.key, at.request.owner, at.request.lease, true);
            at.request.owner = store.new_owner(at.request.key.of, how_.permits);
        }
        at.asked = a->number;
        at.asking = at.may_be_granted = true;
        me_->asks();
        store.attempt(at.request, core_.send_by(now, until_),
                      [me = me_, number = a->number, of = cell_](backend::attempt_answer answer) {
                          count(of->client().counts, answer);
                          of->heard(answer);
                          me->answered({number, std::move(answer)});
                      });
    } else if (const auto* l = std::get_if<engine::listen>(&action)) {
        until_ = l->until;
        at.asking = false;
        at.watch = store.watch(at.request.key, at.request.owner,
                               [me = me_, client = &core_](backend::watch_event e) {
                                   if (const auto held = me->watched(std::move(e)))
                                       client->ask_whether_held(held);
                               });
    } else if (const auto* w = std::get_if<engine::wait>(&action)) {
        until_ = w->until;
    } else if (const auto* got = std::get_if<engine::hold_it>(&action)) {
        return settle(*got, now);
    } else {
        auto& no = std::get<engine::give_up>(action);
        const auto& r = at.request;
        if (no.cleanup == engine::undo::insist) {
            core_.undo(r.key, r.owner, r.lease, true);
        } else if (no.cleanup == engine::undo::once) {
            // After the answer: a script that the server did not know is resent, and would arrive after the
            // undo.
            me_->once_answered([undo = core_.plan_undo(r.key, r.owner, r.lease)](waiter::answers all) {
                undo(all == waiter::answers::some_unknown);
            });
        }
        return cell_->describe(no.why, no.holder);
    }
    return std::nullopt;
}

std::shared_ptr<hold> pursuit::settle(const engine::hold_it& grant, time_point now) {
    const auto t = std::make_shared<tenancy>(cell_->key_, std::move(contest_->request.owner), me_->wants,
                                             grant.token, grant.deadline, now, grant.bound);
    t->acks = grant.acks;
    t->kept.at_least_until(grant.kept_until);
    t->grant = {now, t->deadline()};
    t->stray = grant.stray;
    t->home = cell_;
    t->watch = std::move(contest_->watch);
    if (t->watch) t->hears = me_;
    t->thread = me_->thread;
    std::shared_ptr<hold> h;
    std::shared_ptr<waiter> next;
    {
        base::guard lock(cell_->mutex_);
        const bool stays = engine::rules_of(cell_->key_.of).threads != engine::line::one_asks;
        if (!stays) next = cell_->gate_.leave(me_);
        cell_->tenants_.push_back({t, 1, stays ? me_ : nullptr});
        h = hold_of(t);
    }
    if (next) next->call();
    core_.began(t, now - me_->called_at);
    if (me_->close_with(t) || grant.in_doubt) core_.ask_whether_held(t);
    // The watchdog renews the others.
    if (grant.claim && !me_->wants.renewed) core_.renew_now(t, 0);
    return h;
}

std::shared_ptr<hold> pursuit::hold_of(const std::shared_ptr<tenancy>& t) {
    if (!how_.by_thread) return std::make_shared<hold_of_one>(cell_, t);
    cell_->threads_.push_back({me_->thread->serial, t, 1});
    return nullptr;
}

}  // namespace holdfast::session
