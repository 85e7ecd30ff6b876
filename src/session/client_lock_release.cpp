// How a hold of a lock ends: handed off to the next thread in the queue, released at the store, or lost
// before.
#include "base/misuse.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "session/async_operations.hpp"
#include "session/blocking_call.hpp"
#include "session/client_lock.hpp"
#include "session/client_state.hpp"
#include "session/counter_operation.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace holdfast::session {

void client_lock::unlock() noexcept {
    if (client_->forked()) return;
    std::shared_ptr<held_lease> mine;
    {
        base::guard lock(mutex_);
        const auto it = std::find_if(threads_.begin(), threads_.end(),
                                     [](const auto& t) { return t.thread == this_thread()->serial; });
        if (it != threads_.end()) {
            mine = it->lease;
            if (--it->depth > 0) {
                if (auto* const now = holding_of(mine)) client_->show_holds(mine, --now->holds);
                return;
            }
            threads_.erase(it);
        }
    }
    if (mine) {
        end_hold(mine);
    } else {
        client_->report(event_kind::release_failed, &name(),
                        "unlock() by a thread that does not hold the lock", errc::not_owner);
        base::misuse("unlock() by a thread that does not hold the lock");
    }
}

release_result client_lock::release(hold_of_one& h) noexcept {
    if (!h.result())
        h.end(client_->forked() ? release_result{release_outcome::already_lost, {}} : end_hold(h.of));
    return *h.result();
}

release_result client_lock::end_hold(const std::shared_ptr<held_lease>& t) noexcept try {
    return end_hold_at_store(t);
} catch (const std::bad_alloc&) {
    return end_without_answer(t);
}

release_result client_lock::end_hold_at_store(const std::shared_ptr<held_lease>& t) {
    const client_state::call here(*client_);
    auto now = boot_clock::now();
    auto of_store = confirmation::none;
    if (wants_confirmation(t, now)) {
        const auto until = confirm_until(now);
        const auto held = blocking_call<bool>(
            *client_, until, [&](auto handler) { client_->confirm(t, until, std::move(handler)); });
        if (held == true) of_store = confirmation::still_held;
    }
    if (const auto at_once = end_locally(t, of_store, now)) return *at_once;
    now = boot_clock::now();
    auto machine = releasing(*t);
    auto action = machine.begin(now);
    const auto without_answer = [&] {
        return released(t, {{release_outcome::unknown_until, {}}, {}, {make_error_code(errc::closed)}});
    };
    while (!std::holds_alternative<engine::release_done>(action)) {
        if (const auto* retry = std::get_if<engine::retry_release>(&action)) {
            if (!pause(*client_, retry->at)) return without_answer();
            now = boot_clock::now();
            action = machine.begin(now);
            continue;
        }
        const auto until = std::get<engine::send_release>(action).until;
        const auto answer = blocking_call<backend::release_answer>(*client_, until, [&](auto handler) {
            store_.release({key_, t->owner, false}, client_->send_by(now, until), std::move(handler));
        });
        now = boot_clock::now();
        if (!answer && now >= client_->waits_until()) return without_answer();
        action = answer ? machine.on_answer(*answer, now) : machine.on_elapsed(now);
    }
    return released(t, std::get<engine::release_done>(action));
}

void client_lock::release_later(const std::shared_ptr<hold_of_one>& h, callback<void(release_result)> done) {
    const client_state::call here(*client_);
    if (!h->result() && client_->forked()) h->end({release_outcome::already_lost, {}});
    if (!h->result()) {
        client_->begin_pending();
        const auto now = boot_clock::now();
        if (wants_confirmation(h->of, now))
            return async_release::confirm_and_begin(shared_from_this(), h->of, std::move(done));
        try {
            if (auto end = end_locally(h->of, confirmation::none, now)) h->end(*std::move(end));
        } catch (const std::bad_alloc&) {
            h->end(end_without_answer(h->of));
        }
        if (!h->result()) return async_release::begin(shared_from_this(), h->of, std::move(done));
        client_->end_pending();
    }
    if (done) done(*h->result());
}

bool client_lock::wants_confirmation(const std::shared_ptr<held_lease>& t, time_point now) {
    if (!client_->usable() || !store_.taken_by_force(key_.of)) return false;
    base::guard lock(mutex_);
    const auto* const here = holding_of(t);
    return here != nullptr && here->holds == 1 && t->valid() && next_holder(*here, now) != nullptr;
}

// The answer only saves work. If it does not come soon, the lock is released, which waits for its own answer.
time_point client_lock::confirm_until(time_point now) const {
    return now + client_->settings.answer_timeout / 4;
}

// `now` is when the store was asked, if it was, so that a slow answer does not prevent the hand-off.
std::optional<release_result> client_lock::end_locally(const std::shared_ptr<held_lease>& t,
                                                       confirmation of_store, time_point now) {
    if (!client_->usable()) {
        // close() releases what is held; it does not wait for a call that began after it.
        client_->lose(t, observe::loss::closed, "the client was closed");
        return release_result{release_outcome::already_lost, {}};
    }
    {
        base::guard lock(mutex_);
        if (auto* const here = holding_of(t)) {
            if (here->holds > 1 && t->valid()) {
                client_->show_holds(t, --here->holds);
                return release_result{release_outcome::released, {}};
            }
            if (const auto next = hand_off(*here, of_store, now)) {
                lock.unlock();
                next->call();
                return release_result{release_outcome::released, {}};
            }
        }
    }
    if (t->valid() && t->move_to(lease_state::released)) {
        // Stop renewals before the release is sent.
        client_->ended(*t, now);
        return std::nullopt;
    }
    client_->lose(t, observe::loss::expired, "the lease expired before it was released");
    on_lost(t);  // if another thread is reporting the loss, it may not have called this yet
    client_->free_what_is_over(t);
    return release_result{release_outcome::already_lost, {}};
}

// The next thread in the queue, if the lock may be handed off to it.
std::shared_ptr<waiter> client_lock::next_holder(const holding& from, time_point now) {
    auto next = queue_.next();
    const held_lease& t = *from.lease;
    const auto turns = t.fence == fence::none
                           ? client_->settings.local_turns
                           : std::min<unsigned>(client_->settings.local_turns, store_.has().fences_per_grant);
    // After a writer that reads as well, its reader must be the only holder, or one of the readers.
    if (!next || t.state() != lease_state::held || t.read_by_writer ||
        !engine::may_hand_off(t.grant, t.terms(), next->wants, t.deadline(), turns, now))
        return nullptr;
    return next;
}

// Hands the lock off to the next thread in the queue, with what is left of the lease; the store is not
// notified. Returns that thread, for the caller to wake; empty if the lock must be released.
std::shared_ptr<waiter> client_lock::hand_off(holding& from, confirmation of_store, time_point now) {
    if (store_.taken_by_force(key_.of) && of_store == confirmation::none) return nullptr;
    auto next = next_holder(from, now);
    held_lease& t = *from.lease;
    if (!next) return nullptr;
    // The store gives fences in steps that leave room for these.
    const auto fence =
        t.fence == fence::none ? t.fence : static_cast<holdfast::fence>(to_number(t.fence) + 1);
    const auto successor =
        std::make_shared<held_lease>(store_, key_, t.owner, t.terms(), fence, t.own_deadline(), now, t.bound);
    if (!t.move_to(lease_state::released)) return nullptr;
    successor->shorten(t.own_deadline());  // a renewal may have shortened it meanwhile
    successor->acks = t.acks;
    successor->weaker = t.weaker;
    successor->grant = t.grant;
    ++successor->grant.turns;
    successor->stray = t.stray;
    successor->home = weak_from_this();
    successor->watch = std::move(t.watch);
    successor->thread = next->thread;
    successor->listener = t.listener;
    client_->handed_off(t, successor, now - next->called_at);
    // The first held_lease may be gone soon. A message that comes before this call finds the successor
    // through it.
    if (successor->listener) successor->listener->handed_off_to(successor);
    (void)queue_.leave(from.place);
    from = {successor, 1, next};
    next->handed_off = successor;
    return next;
}

backend::adjust_answer client_lock::disown(hold_of_one& h) {
    const client_state::call here(*client_);
    const auto& t = h.of;
    if (!client_->usable() || !t->valid() || !t->move_to(lease_state::released)) return backend::adjusted{0};
    client_->ended(*t, boot_clock::now());
    counts_.released.add();
    h.end({release_outcome::released, {}});
    auto answer =
        adjust(*client_, {key_, backend::adjustment::disown, 0, store_.new_owner(key_.of, 1), t->owner});
    // Also if an attempt may still reach the store: it would take the permits a second time.
    if (t->stray || !std::holds_alternative<backend::adjusted>(answer)) client_->undo(*t, true);
    t->watch.reset();
    base::guard lock(mutex_);
    (void)remove_holding(t);  // it has no place in the queue
    return answer;
}

engine::release client_lock::releasing(const held_lease& t) const {
    return engine::release{{t.deadline(), client_->settings.answer_timeout}};
}

// Empty if no server answered, or if there is no memory for its text.
std::shared_ptr<const error> client_lock::refusal_of(const backend::failure& why) const try {
    if (why.server_text.empty()) return nullptr;
    auto sentence = called() + " could not be released";
    sentence += why.text.empty() ? ": " + why.code.message() : " (" + base::printable(why.text) + ")";
    return std::make_shared<const error>(why.code, sentence, why.server_text);
} catch (const std::bad_alloc&) {
    return nullptr;
}

// Handles the store's final answer.
release_result client_lock::released(const std::shared_ptr<held_lease>& t, engine::release_done done) {
    t->watch.reset();
    const auto end = done.result.outcome;
    if (end == release_outcome::unknown_until)
        done.result.until = client_->store_frees(*t, boot_clock::now());
    if (end == release_outcome::unknown_until || t->stray) client_->undo(*t, true);
    if (end == release_outcome::released) {
        counts_.released.add();
        client_->report(event_kind::released, &name(), {}, {}, t->fence);
    } else if (end == release_outcome::already_lost) {
        counts_.lose(observe::loss::not_owner);
        client_->report(event_kind::lost, &name(),
                        "the store reports that the lock was no longer held when it was released", errc::lost,
                        t->fence);
    } else {
        counts_.release_unknown.add();
        done.result.refusal = refusal_of(done.reason);
        client_->report(event_kind::release_failed, &name(),
                        done.result.refusal
                            ? "the server refused (" + done.reason.in_one() + "); it frees the lock by itself"
                            : "the store did not answer; it frees the lock by itself",
                        done.reason.code, t->fence);
    }

    std::shared_ptr<waiter> next;
    {
        base::guard lock(mutex_);
        expect_queue_ = done.answer.handed_over;
        if (done.answer.listeners > 0) {
            // About a round trip for the message and one for the answer to it, randomized.
            const auto trip =
                std::max<boot_clock::duration>(store_.statistics().round_trip, std::chrono::microseconds{50});
            not_before_ = boot_clock::now() +
                          std::chrono::duration_cast<boot_clock::duration>(trip * (1 + 2 * base::jitter()));
        }
        next = remove_holding(t);
    }
    if (next) next->call();
    return done.result;
}

release_result client_lock::end_without_answer(const std::shared_ptr<held_lease>& t) noexcept {
    const client_state::call here(*client_);
    const auto now = boot_clock::now();
    release_result end{release_outcome::unknown_until, client_->store_frees(*t, now), {}};
    if (t->state() == lease_state::lost) end = {release_outcome::already_lost, {}, {}};
    if (t->move_to(lease_state::released)) client_->ended(*t, now);
    t->watch.reset();
    client_->report(event_kind::release_failed, &name(), {}, errc::out_of_memory, t->fence);
    std::shared_ptr<waiter> next;
    {
        base::guard lock(mutex_);
        next = remove_holding(t);
    }
    if (client_->usable()) client_->undo(*t, true);
    if (next) next->call();
    return end;
}

void client_lock::on_lost(const std::shared_ptr<held_lease>& t) {
    std::shared_ptr<waiter> next;
    bool still_reads = false;
    {
        base::guard lock(mutex_);
        if (!t->thread || !t->thread->alive.load())
            std::erase_if(threads_, [&](const auto& h) { return h.lease == t; });
        // Only the first call for this loss counts them.
        if (const auto* const here = holding_of(t)) client_->count_holds_if_kept(*t, here->holds);
        next = remove_holding(t);
        still_reads = t->read_by_writer;
    }
    // The reader keeps the key alive, and the key keeps other readers out while it names a writer.
    if (still_reads && !client_->keeps(*t)) client_->undo(*t, false);
    if (next) next->call();
}

}  // namespace holdfast::session
