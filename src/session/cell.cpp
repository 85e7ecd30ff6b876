#include "session/cell.hpp"

#include "base/random.hpp"
#include "base/text.hpp"
#include "engine/release.hpp"
#include "session/ask.hpp"
#include "session/core.hpp"
#include "session/waiter.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::session {

namespace {

// Beyond it PEXPIRE and arithmetic overflow, and nobody means it.
constexpr milliseconds longest_lease = std::chrono::hours{24} * 365;

failed closed() { return {errc::closed, "the client of this lock was destroyed", {}}; }

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

std::variant<std::shared_ptr<hold>, failed> cell::acquire(const acquisition& how) {
    if (how.ttl && *how.ttl <= milliseconds::zero()) {
        return failed{errc::invalid_argument,
                      "a ttl must be 1 ms or more, and " + base::to_text(*how.ttl) + " was given",
                      {}};
    }
    const core::call here(*core_);
    if (!core_->usable()) return closed();
    if (auto again = enter_again(how)) return std::move(*again);

    const engine::lease_terms wants{std::min(how.ttl.value_or(core_->settings.lease), longest_lease),
                                    how.renew.value_or(!how.ttl)};
    const auto me =
        std::make_shared<waiter>(wants, how.by_thread ? this_thread() : nullptr, boot_clock::now());
    const std::stop_callback on_stop(how.stop, [&me] { me->push(engine::cancelled{}); });
    std::variant<std::shared_ptr<hold>, failed> result;
    try {
        auto turn = wait_for_turn(me, how);
        if (std::holds_alternative<at_the_head>(turn)) {
            result = contend(me, how);
        } else if (auto* passed = std::get_if<std::shared_ptr<hold>>(&turn)) {
            return std::move(*passed);
        } else {
            result = std::get<failed>(std::move(turn));
        }
    } catch (...) {
        leave(me);
        throw;
    }
    if (const auto* no = std::get_if<failed>(&result)) {
        leave(me);
        if (!core_->usable()) return closed();
        if (no->why == errc::timed_out)
            core_->counts.not_acquired.add();
        else
            core_->counts.failed.add();
    }
    return result;
}

// A thread that holds the lock by lock() asks again.
std::optional<std::variant<std::shared_ptr<hold>, failed>> cell::enter_again(const acquisition& how) {
    if (!how.by_thread) return std::nullopt;
    base::guard lock(mutex_);
    const auto mine = std::find_if(threads_.begin(), threads_.end(),
                                   [&](const auto& t) { return t.thread == this_thread()->serial; });
    if (mine == threads_.end()) return std::nullopt;
    if (key_.of != backend::kind::recursive) {
        if (!how.give_up_at) return failed{errc::timed_out, {}, {}};
        return failed{
            errc::would_deadlock,
            "this thread already holds the mutex \"" + name().printable() + "\", which is not recursive",
            {}};
    }
    const auto& t = mine->lease;
    if (!now_ || now_->lease != t || !t->valid()) {
        return failed{
            errc::lost,
            "this thread's hold of the lock \"" + name().printable() + "\" has ended; unlock it first",
            {}};
    }
    ++mine->depth;
    ++now_->holds;
    core_->counts.reentered.add();
    if (how.renew.value_or(!how.ttl) && !t->renewed())
        core_->keep_renewed(t, std::min(how.ttl.value_or(core_->settings.lease), longest_lease));
    core_->renew_now(t, now_->holds);
    return std::make_shared<hold>(shared_from_this(), t);
}

std::variant<std::shared_ptr<hold>, failed> cell::reenter(const hold& outer) {
    base::guard lock(mutex_);
    const auto& t = outer.of;
    if (outer.in.get() != this || outer.result) {
        return failed{
            errc::not_owner, "the lease given is not one of the lock \"" + name().printable() + "\"", {}};
    }
    if (!now_ || now_->lease != t || !t->valid()) {
        return failed{errc::lost, "the lease of the lock \"" + name().printable() + "\" has ended", {}};
    }
    ++now_->holds;
    core_->counts.reentered.add();
    core_->renew_now(t, now_->holds);
    return std::make_shared<hold>(shared_from_this(), t);
}

// Threads of one process stand in line here; only the first asks the store, or is passed the lock.
std::variant<cell::at_the_head, std::shared_ptr<hold>, failed> cell::wait_for_turn(
    const std::shared_ptr<waiter>& me, const acquisition& how) {
    base::guard lock(mutex_);
    if (!core_->usable()) return closed();  // turn_away() has passed here already
    bool at_head = how.give_up_at ? gate_.enter(me) : gate_.try_enter(me);
    if (!at_head && !how.give_up_at) return failed{errc::timed_out, {}, {}};
    while (!at_head) {
        lock.unlock();
        me->wait_for_call(*how.give_up_at);
        lock.lock();
        if (const auto t = std::exchange(me->passed_on, nullptr)) {
            if (t->valid()) {
                if (how.by_thread) threads_.push_back({me->thread->serial, t, 1});
                return std::make_shared<hold>(shared_from_this(), t);
            }
            // This thread was stopped for so long that it has nothing of the lock; it stands in line again.
            lock.unlock();
            core_->lose(t, "its time was over before the thread that it was passed on to ran");
            on_lost(t);
            if (core_->usable()) core_->undo(key_, t->owner, t->lease(), false);
            me->called_in_vain();
            lock.lock();
            if (!core_->usable()) return closed();
            at_head = gate_.enter(me);
            continue;
        }
        at_head = gate_.is_head(me);
        if (at_head) break;
        (void)gate_.leave(me);
        if (how.stop.stop_requested()) return describe(errc::cancelled, {}, {});
        return failed{errc::timed_out, {}, {}};
    }
    const auto pause_until = not_before_;
    lock.unlock();
    if (how.give_up_at && pause_until > boot_clock::now()) {
        // Waiters elsewhere were just told that the lock is free; who comes back at once would always win.
        me->pause(std::min(pause_until, *how.give_up_at));
    }
    return at_the_head{};
}

std::variant<std::shared_ptr<hold>, failed> cell::contend(const std::shared_ptr<waiter>& me,
                                                          const acquisition& how) {
    const auto& settings = core_->settings;
    auto& store = core_->store();
    backend::attempt_request request{key_, store.new_owner(key_.of), me->wants.lease, backend::intent::look};
    engine::acquire_settings rules;
    rules.lease = request.lease;
    rules.trust = core_->trust;
    rules.once = !how.give_up_at;
    rules.give_up_at = how.give_up_at.value_or(time_point::max());
    rules.listen = !how.poll;
    if (key_.of == backend::kind::recursive) {
        rules.stagger =
            std::chrono::duration_cast<boot_clock::duration>(store.seen().round_trip * base::jitter());
    }
    rules.poll_gap = settings.poll_gap;
    rules.silent_poll = settings.silent_poll;
    rules.patience = settings.patience;
    rules.answer_timeout = settings.answer_timeout;
    {
        base::guard lock(mutex_);
        rules.expect_queue = std::exchange(expect_queue_, false);
    }

    engine::acquire machine(rules);
    std::unique_ptr<backend::watch_handle> watch;
    engine::acquire_event event = engine::begun{};
    bool asking = false;
    for (;;) {
        auto action = machine.resume(std::move(event), boot_clock::now());
        time_point until{};
        if (const auto* a = std::get_if<engine::ask>(&action)) {
            request.want = a->want;
            until = a->until;
            asking = true;
            me->asks();
            store.attempt(request, send_by(until),
                          [me, number = a->number, core = core_](backend::attempt_answer answer) {
                              count(core->counts, answer);
                              me->answered({number, std::move(answer)});
                          });
        } else if (const auto* l = std::get_if<engine::listen>(&action)) {
            until = l->until;
            asking = false;
            watch = store.watch(key_, request.owner,
                                [me](backend::watch_event e) { me->push(engine::watched{std::move(e)}); });
        } else if (const auto* w = std::get_if<engine::wait>(&action)) {
            until = w->until;
        } else if (const auto* got = std::get_if<engine::hold_it>(&action)) {
            return settle(me, how, *got, request.owner, std::move(watch));
        } else {
            auto& no = std::get<engine::give_up>(action);
            if (no.cleanup == engine::undo::insist) {
                core_->undo(key_, request.owner, request.lease, true);
            } else if (no.cleanup == engine::undo::once) {
                // Not before the answer: a script that the server did not know is sent again, behind us.
                me->once_answered(core_->plan_undo(key_, request.owner, request.lease, false));
            }
            return describe(no.why, no.text, no.holder);
        }
        event = me->next(until, asking ? &store : nullptr);
        if (std::holds_alternative<engine::answered>(event)) asking = false;
    }
}

std::shared_ptr<hold> cell::settle(const std::shared_ptr<waiter>& me, const acquisition& how,
                                   const engine::hold_it& grant, owner_id owner,
                                   std::unique_ptr<backend::watch_handle> watch) {
    const auto now = boot_clock::now();
    const auto t = std::make_shared<tenancy>(key_, std::move(owner), me->wants.lease, me->wants.renewed,
                                             grant.token, grant.deadline, now);
    t->grant = {now, grant.deadline};
    t->stray = grant.stray;
    t->home = weak_from_this();
    t->watch = std::move(watch);
    t->thread = me->thread;
    auto h = std::make_shared<hold>(shared_from_this(), t);
    {
        base::guard lock(mutex_);
        now_ = occupancy{t, 1, me};
        if (how.by_thread) threads_.push_back({me->thread->serial, t, 1});
    }
    core_->began(t, now - me->called_at);
    if (grant.claim) core_->renew_now(t, 0);
    return h;
}

void cell::unlock() noexcept {
    if (core_->forked()) return;
    std::shared_ptr<tenancy> mine;
    {
        base::guard lock(mutex_);
        const auto it = std::find_if(threads_.begin(), threads_.end(),
                                     [](const auto& t) { return t.thread == this_thread()->serial; });
        if (it != threads_.end()) {
            mine = it->lease;
            if (--it->depth > 0) {
                if (now_ && now_->lease == mine) core_->renew_now(mine, --now_->holds);
                return;
            }
            threads_.erase(it);
        }
    }
    if (mine) {
        end_hold(mine);
    } else {
        core_->tell(event_kind::release_failed, &name(), "unlock() by a thread that does not hold it",
                    errc::not_owner);
    }
}

release_result cell::release(hold& h) noexcept {
    if (!h.result) {
        h.result = core_->forked() ? release_result{release_outcome::already_lost, {}} : end_hold(h.of);
    }
    return *h.result;
}

release_result cell::end_hold(const std::shared_ptr<tenancy>& t) {
    {
        base::guard lock(mutex_);
        if (now_ && now_->lease == t && now_->holds > 1 && t->valid()) {
            core_->renew_now(t, --now_->holds);
            return {release_outcome::released, {}};
        }
    }
    return give_back(t);
}

// The next thread in line has the lock from now on, with what is left of the lease; the store hears nothing.
bool cell::pass_on(const std::shared_ptr<tenancy>& t) {
    std::shared_ptr<waiter> next;
    {
        base::guard lock(mutex_);
        if (!now_ || now_->lease != t || t->state() != lease_state::held) return false;
        next = gate_.next();
        const auto now = boot_clock::now();
        if (!next || !engine::may_pass_on(t->grant, {t->lease(), t->renewed()}, next->wants, t->deadline(),
                                          core_->settings.local_turns, now))
            return false;
        if (!t->move_to(lease_state::released)) return false;
        // The store gives fences in steps that leave room for these.
        const auto token = t->token == fence::none ? t->token : static_cast<fence>(to_number(t->token) + 1);
        const auto successor =
            std::make_shared<tenancy>(key_, t->owner, t->lease(), t->renewed(), token, t->deadline(), now);
        successor->grant = t->grant;
        ++successor->grant.turns;
        successor->stray = t->stray;
        successor->home = weak_from_this();
        successor->watch = std::move(t->watch);
        successor->thread = next->thread;
        core_->passed_on(*t, successor, now - next->called_at);
        (void)gate_.leave(now_->place);
        now_ = occupancy{successor, 1, next};
        next->passed_on = successor;
    }
    next->call();
    return true;
}

// The last hold ends: nobody renews it any more, then the store is told.
release_result cell::give_back(const std::shared_ptr<tenancy>& t) {
    if (pass_on(t)) return {release_outcome::released, {}};
    const auto believed_until = t->deadline();
    const bool ours = t->valid() && t->move_to(lease_state::released);
    if (!ours) {
        // It is over, or just about: if the store does not know yet, that frees it earlier.
        core_->lose(t, "its time was over when it was released");
        on_lost(t);  // if another thread tells the loss just now, it may not be there yet
        if (core_->usable()) core_->undo(key_, t->owner, t->lease(), false);
        return {release_outcome::already_lost, {}};
    }
    core_->ended(*t);

    auto& store = core_->store();
    engine::release machine({believed_until, frees_at(*t), core_->settings.answer_timeout});
    auto action = machine.begin(boot_clock::now());
    backend::parker pause;
    while (!std::holds_alternative<engine::release_done>(action)) {
        if (const auto* retry = std::get_if<engine::retry_release>(&action)) {
            pause.park_until(retry->at);
            action = machine.begin(boot_clock::now());
            continue;
        }
        const auto until = std::get<engine::send_release>(action).until;
        const auto answer = ask<backend::release_answer>(store, until, [&](auto handler) {
            store.release({key_, t->owner, false}, send_by(until), std::move(handler));
        });
        const auto now = boot_clock::now();
        action = answer ? machine.on_answer(*answer, now) : machine.on_elapsed(now);
    }
    const auto& done = std::get<engine::release_done>(action);
    t->watch.reset();
    const auto outcome = done.result.outcome;
    if (outcome == release_outcome::unknown_until || t->stray) core_->undo(key_, t->owner, t->lease(), true);
    if (outcome == release_outcome::released) {
        core_->counts.released.add();
        core_->tell(event_kind::released, &name(), {}, {}, t->token);
    } else if (outcome == release_outcome::already_lost) {
        core_->counts.lost.add();
        core_->tell(event_kind::lost, &name(),
                    "the store says that it was not held any more when it was released", errc::lost,
                    t->token);
    } else {
        core_->tell(event_kind::release_failed, &name(),
                    "the store did not answer; it frees the lock by itself", done.reason.code, t->token);
    }

    std::shared_ptr<waiter> place;
    {
        base::guard lock(mutex_);
        expect_queue_ = done.told.handed_over;
        if (done.told.listeners > 0) {
            // About a round trip for the message and one for the answer to it, spread.
            const auto trip =
                std::max<boot_clock::duration>(store.seen().round_trip, std::chrono::microseconds{50});
            not_before_ = boot_clock::now() +
                          std::chrono::duration_cast<boot_clock::duration>(trip * (1 + 2 * base::jitter()));
        }
        if (now_ && now_->lease == t) {
            place = std::move(now_->place);
            now_.reset();
        }
    }
    if (place) leave(place);
    return done.result;
}

void cell::turn_away() {
    base::guard lock(mutex_);
    gate_.each([](const std::shared_ptr<waiter>& w) { w->push(engine::cancelled{}); });
}

void cell::on_lost(const std::shared_ptr<tenancy>& t) {
    std::shared_ptr<waiter> place;
    {
        base::guard lock(mutex_);
        if (!t->thread || !t->thread->alive.load())
            std::erase_if(threads_, [&](const auto& h) { return h.lease == t; });
        if (!now_ || now_->lease != t) return;
        place = std::move(now_->place);
        now_.reset();
    }
    leave(place);
}

void cell::leave(const std::shared_ptr<waiter>& me) {
    std::shared_ptr<waiter> next;
    {
        base::guard lock(mutex_);
        next = gate_.leave(me);
    }
    if (next) next->call();
}

std::shared_ptr<tenancy> cell::held_here() const {
    if (core_->forked()) return nullptr;
    base::guard lock(mutex_);
    for (const auto& t : threads_) {
        if (t.thread == this_thread()->serial) return t.lease;
    }
    return nullptr;
}

// What could not be sent by then never will be, and the store says so before we stop waiting: "not sent" is a
// better answer than none.
time_point cell::send_by(time_point until) const {
    const auto left = std::max<boot_clock::duration>(until - boot_clock::now(), milliseconds{0});
    return until - std::min<boot_clock::duration>(left, core_->settings.answer_timeout) / 8;
}

// A renewal may have been sent just now, and be carried out as late as we would wait for its answer.
time_point cell::frees_at(const tenancy& t) const {
    const auto slack = std::chrono::duration_cast<milliseconds>(t.lease() * core_->settings.drift);
    return engine::later(engine::later(boot_clock::now(), t.lease()), core_->settings.answer_timeout + slack);
}

failed cell::describe(std::error_code why, std::string server_text, const std::string& holder) const {
    const auto lock = "the lock \"" + name().printable() + "\"";
    std::string sentence = lock + " could not be acquired";
    if (why == errc::timed_out) sentence = lock + " is held by somebody else";
    if (why == errc::timed_out && !holder.empty()) sentence += " (" + base::printable(holder) + ")";
    // Of the connection we speak ourselves; other texts are the server's and stay apart.
    if ((why == errc::unavailable || why == errc::unknown_outcome) && !server_text.empty()) {
        sentence += " (" + base::printable(std::exchange(server_text, {})) + ")";
    }
    if (why == errc::wrong_kind)
        sentence = "the key \"" + name().printable() + "\" holds something else than this kind of lock";
    return {why, std::move(sentence), std::move(server_text)};
}

}  // namespace holdfast::session
