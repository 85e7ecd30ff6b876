#include "session/acquire_operation.hpp"

#include "base/random.hpp"
#include "session/client_state.hpp"

#include <algorithm>
#include <new>
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

acquire_operation::acquire_operation(std::shared_ptr<client_lock> of, acquisition how, callback<void()> poke)
    : lock_(std::move(of)),
      client_(lock_->client()),
      how_(std::move(how)),
      me_(std::make_shared<waiter>(lock_->terms_of(how_), how_.by_thread ? this_thread() : nullptr,
                                   boot_clock::now(), std::move(poke))) {}

acquire_operation::~acquire_operation() {
    if (stage_ == stage::outside || stage_ == stage::over) return;
    // An exception left it unfinished, for example for lack of memory.
    take_back();
    lock_->leave(me_);
}

void acquire_operation::take_back() noexcept {
    if (!attempt_ || attempt_->number == 0 || attempt_->request.owner.empty()) return;
    const auto& r = attempt_->request;
    client_.undo(lock_->store(), r.key, r.owner, r.lease, true);
}

void acquire_operation::wait() {
    me_->wait(until_, attempt_ && attempt_->unanswered ? &client_.store() : nullptr);
}

std::optional<acquire_operation::outcome> acquire_operation::advance() {
    me_->look();
    auto end = go_on(boot_clock::now());
    if (!end) return end;
    const bool stood = std::exchange(stage_, stage::over) != stage::outside;
    me_->close();
    attempt_.reset();
    if (const auto* no = std::get_if<failed>(&*end)) {
        if (stood) lock_->leave(me_);
        if (!client_.usable()) return closed();
        if (no->why == errc::timed_out)
            lock_->counts().not_acquired.add();
        else
            lock_->counts().failed[observe::index_of(no->why)].add();
    }
    return end;
}

std::optional<acquire_operation::outcome> acquire_operation::go_on(time_point now) {
    if (stage_ == stage::outside) {
        if (auto end = enter_queue()) return end;
    } else if (stage_ == stage::in_queue) {
        if (auto end = wait_in_queue(now)) return end;
    }
    if (stage_ == stage::in_queue) return std::nullopt;
    if (stage_ == stage::pausing) {
        if (now < until_ && !me_->has_event()) return std::nullopt;
        stage_ = stage::at_the_store;
    }
    return advance_attempt(now);
}

// --- in the queue -----------------------------------------------------------------------------------
// The threads and tasks of one process queue; only the head asks the store, or gets the lock by a hand-off.

std::optional<acquire_operation::outcome> acquire_operation::enter_queue() {
    base::guard lock(lock_->mutex_);
    if (!client_.usable()) return closed();  // client_lock::cancel_waiters() has already run
    if (me_->has_event()) return give_up_in_queue();
    const bool first = how_.give_up_at ? lock_->queue_.enter(me_) : lock_->queue_.try_enter(me_);
    if (first) {
        at_the_head();
    } else if (how_.give_up_at) {
        stage_ = stage::in_queue;
        until_ = *how_.give_up_at;
    } else {
        return failed{errc::timed_out, {}, {}};
    }
    return std::nullopt;
}

std::optional<acquire_operation::outcome> acquire_operation::wait_in_queue(time_point now) {
    base::guard lock(lock_->mutex_);
    if (const auto t = std::exchange(me_->handed_off, nullptr)) {
        if (t->valid()) {
            try {
                return hold_of(t);
            } catch (const std::bad_alloc&) {
                lock.unlock();
                (void)lock_->end_without_answer(t);
                stage_ = stage::outside;
                throw;
            }
        }
        // This thread was stopped until nothing was left of the lease; back into the queue.
        lock.unlock();
        client_.lose(t, observe::loss::expired,
                     "the lease expired before the thread that received it by a hand-off ran");
        lock_->on_lost(t);
        if (client_.usable()) client_.free_what_is_over(t);
        lock.lock();
        stage_ = stage::outside;
        if (!client_.usable()) return closed();
        stage_ = stage::in_queue;
        if (lock_->queue_.enter(me_)) at_the_head();
        return std::nullopt;
    }
    if (lock_->queue_.may_ask(me_)) {
        at_the_head();
    } else if (me_->has_event() || now >= until_) {
        // Leave under the mutex: without it the lock might still be handed off to us.
        (void)lock_->queue_.leave(me_);
        stage_ = stage::outside;
        return give_up_in_queue();
    }
    return std::nullopt;
}

acquire_operation::outcome acquire_operation::give_up_in_queue() {
    if (me_->has_event()) return lock_->describe({errc::cancelled}, {});  // no other event comes here
    return lock_->not_had();
}

// If waiters of other processes were just notified that the lock is free, this caller pauses: one that comes
// back at once would always win.
void acquire_operation::at_the_head() {
    stage_ = stage::pausing;
    until_ = how_.give_up_at ? std::min(lock_->not_before_, *how_.give_up_at) : time_point{};
    expect_queue_ = std::exchange(lock_->expect_queue_, false);
}

// --- at the store -----------------------------------------------------------------------------------

void acquire_operation::begin_attempt() {
    const auto& key = lock_->key_;
    const auto& settings = client_.settings;
    auto& store = lock_->store();
    engine::acquire_settings rules;
    rules.lease = me_->wants.lease;
    rules.replicas = me_->wants.replicas.at_least;
    rules.margin = client_.clock_margin();
    rules.once = !how_.give_up_at;
    rules.give_up_at = how_.give_up_at.value_or(time_point::max());
    rules.listen = !how_.poll && store.has().ask_every == milliseconds{0};
    if (store.wakes_all(key.of)) {
        rules.stagger =
            std::chrono::duration_cast<boot_clock::duration>(store.statistics().round_trip * base::jitter());
    }
    rules.poll_gap = settings.poll_gap;
    const auto ask_every = store.has().ask_every;
    rules.silent_poll = ask_every > milliseconds{0} ? ask_every : settings.redis.silent_poll;
    if (store.has().votes) {
        // The store says how long to wait, so that two clients that split the votes do not collide again.
        const auto far = std::chrono::ceil<std::chrono::milliseconds>(8 * store.statistics().round_trip);
        rules.silent_poll = std::max(rules.silent_poll, far);
    }
    rules.patience = settings.patience;
    rules.answer_timeout = settings.answer_timeout;
    rules.expect_queue = expect_queue_ || store.has().queues_at_once;
    attempt_.emplace(rules, backend::attempt_request{key, store.new_owner(key.of, how_.permits), rules.lease,
                                                     backend::intent::look, how_.permits, how_.total,
                                                     how_.downgrading_from, me_->wants.replicas,
                                                     me_->wants.at_least, !rules.once});
}

std::optional<acquire_operation::outcome> acquire_operation::advance_attempt(time_point now) {
    std::optional<engine::acquire_event> event;
    if (attempt_) {
        event = me_->take();
    } else {
        begin_attempt();
        event = engine::begun{};
    }
    for (;;) {
        if (!event && now >= until_) event = engine::elapsed{};
        if (!event) return std::nullopt;
        // A late answer to an earlier attempt leaves the last one open.
        if (const auto* answered = std::get_if<engine::answered>(&*event);
            answered && answered->number == attempt_->number) {
            attempt_->unanswered = false;
            // If the grant is accepted, no further attempt follows.
            attempt_->may_be_granted = std::holds_alternative<backend::granted>(answered->answer) ||
                                       std::holds_alternative<backend::unknown>(answered->answer);
        }
        if (auto end = carry_out(attempt_->machine.resume(std::move(*event), now), now)) return end;
        // The event may have come long ago: this thread may have been stopped.
        now = boot_clock::now();
        event = me_->take();
    }
}

std::optional<acquire_operation::outcome> acquire_operation::carry_out(engine::acquire_action action,
                                                                       time_point now) {
    auto& at = *attempt_;
    auto& store = lock_->store();
    if (const auto* a = std::get_if<engine::send_attempt>(&action)) {
        until_ = a->until;
        at.request.want = a->want;
        if (a->number > 1 && store.has().votes) {
            if (at.may_be_granted)
                client_.undo(store, at.request.key, at.request.owner, at.request.lease, true);
            at.request.owner = store.new_owner(at.request.key.of, how_.permits);
        }
        at.number = a->number;
        at.unanswered = at.may_be_granted = true;
        me_->on_send();
        store.attempt(at.request, client_.send_by(now, until_),
                      [me = me_, number = a->number, of = lock_](backend::attempt_answer answer) {
                          count(of->client().counts, answer);
                          of->record_trouble(answer);
                          me->answered({number, std::move(answer)});
                      });
    } else if (const auto* l = std::get_if<engine::listen>(&action)) {
        until_ = l->until;
        at.unanswered = false;
        at.watch = store.watch(at.request.key, at.request.owner,
                               [me = me_, client = &client_](backend::watch_event e) {
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
            client_.undo(lock_->store(), r.key, r.owner, r.lease, true);
        } else if (no.cleanup == engine::undo::once) {
            // After the answer: a script that the server did not know is resent, and would arrive after
            // the undo.
            me_->once_answered([undo = client_.plan_undo(store, r.key, r.owner, r.lease)](
                                   waiter::answers all) { undo(all == waiter::answers::some_unknown); });
        }
        return lock_->describe(no.why, no.holder);
    }
    return std::nullopt;
}

std::shared_ptr<hold> acquire_operation::settle(const engine::hold_it& grant, time_point now) {
    auto key = lock_->key_;
    const auto t =
        std::make_shared<held_lease>(lock_->store(), std::move(key), std::move(attempt_->request.owner),
                                     me_->wants, grant.fence, grant.deadline, now, grant.bound);
    t->acks = grant.acks;
    t->weaker = grant.weaker;
    t->expiry.at_least_until(grant.expires_by);
    t->grant = {now, t->deadline()};
    t->stray = grant.stray;
    t->home = lock_;
    t->counts = &lock_->counts();
    t->watch = std::move(attempt_->watch);
    if (t->watch) t->listener = me_;
    t->thread = me_->thread;
    try {
        return begin_hold(t, grant, now);
    } catch (const std::bad_alloc&) {
        {
            base::guard lock(lock_->mutex_);
            std::erase_if(lock_->threads_, [&](const auto& h) { return h.lease == t; });
        }
        (void)lock_->end_without_answer(t);
        throw;
    }
}

std::shared_ptr<hold> acquire_operation::begin_hold(const std::shared_ptr<held_lease>& t,
                                                    const engine::hold_it& grant, time_point now) {
    std::shared_ptr<hold> h;
    std::shared_ptr<waiter> next;
    {
        base::guard lock(lock_->mutex_);
        const bool stays = engine::rules_of(lock_->key_.of).threads != engine::queueing::one_asks;
        h = hold_of(t);
        lock_->holdings_.push_back({t, 1, stays ? me_ : nullptr});
        if (!stays) next = lock_->queue_.leave(me_);
    }
    if (next) next->call();
    client_.began(t, now - me_->called_at);
    if (t->weaker)
        client_.report(event_kind::degraded, &lock_->name(),
                       "granted without the store: it is only " + std::string{to_string(*t->weaker)},
                       errc::unavailable);
    if (me_->close_with(t) || grant.in_doubt) client_.ask_whether_held(t);
    // The watchdog renews the others.
    if (grant.claim && !me_->wants.renewed) client_.renew_now(t, 0);
    return h;
}

std::shared_ptr<hold> acquire_operation::hold_of(const std::shared_ptr<held_lease>& t) {
    if (!how_.by_thread) return std::make_shared<hold_of_one>(lock_, t);
    lock_->threads_.push_back({me_->thread->serial, t, 1});
    return nullptr;
}

}  // namespace holdfast::session
