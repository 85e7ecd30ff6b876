#include "session/cell.hpp"

#include "base/misuse.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "session/adjusting.hpp"
#include "session/ask.hpp"
#include "session/background.hpp"
#include "session/core.hpp"
#include "session/pursuit.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::session {

namespace {

// Beyond it PEXPIRE and arithmetic overflow, and nobody means it.
constexpr milliseconds longest_lease = std::chrono::hours{24} * 365;

}  // namespace

cell::~cell() {
    if (!core_->usable()) return;
    for (const auto& left : threads_) {
        const auto& t = left.lease;
        // The end of a thread that holds it is another story, and is told.
        if (!t->valid() || !t->thread->alive.load(std::memory_order_acquire)) continue;
        core_->let_expire(t);
        core_->tell(
            event_kind::release_failed, &name(),
            "the lock object was destroyed while a thread held it by lock(); it is not renewed any more",
            errc::not_owner, t->token);
        base::misuse("a lock object was destroyed while a thread held it by lock()");
    }
}

cell::outcome cell::acquire(const acquisition& how) {
    const core::call here(*core_);
    if (auto no = refuse(how)) return std::move(*no);
    if (auto again = enter_again(how)) return std::move(*again);
    if (const auto other = how.by_thread ? other_side() : nullptr) {
        if (const auto held = other->own_lease()) return enter_beside(held, how);
    }
    return pursue(how);
}

cell::outcome cell::pursue(const acquisition& how) {
    pursuit way(shared_from_this(), how);
    const std::stop_callback on_stop(how.stop, [&way] { way.cancel(); });
    for (;;) {
        if (auto end = way.advance()) return std::move(*end);
        way.wait();
    }
}

// This thread holds the other side by `held`.
cell::outcome cell::enter_beside(const std::shared_ptr<tenancy>& held, acquisition how) {
    if (key_.of == backend::kind::shared_read) return read_as(held, std::move(how));
    if (!how.give_up_at) return failed{errc::timed_out, {}, {}};
    return failed{errc::would_deadlock,
                  "this thread reads under the lock \"" + name().printable() +
                      "\", and a reader cannot become the writer; unlock_shared() first",
                  {}};
}

cell::outcome cell::acquire_beside(const hold& of, acquisition how) {
    const core::call here(*core_);
    if (auto no = refuse(how)) return std::move(*no);
    const auto* const other = dynamic_cast<const hold_of_one*>(&of);
    if (other == nullptr || other->in != other_side() || other->result) {
        return failed{errc::not_owner,
                      "the lease given is not one of the writer of the lock \"" + name().printable() + "\"",
                      {}};
    }
    return read_as(other->of, std::move(how));
}

cell::outcome cell::read_as(const std::shared_ptr<tenancy>& writer, acquisition how) {
    {
        const auto writers = other_side();
        base::guard lock(writers->mutex_);
        if (!writer->valid()) return failed{errc::lost, "the lease of " + called() + " has ended", {}};
        writer->read_beside = true;
    }
    how.beside = writer->owner;
    return pursue(how);
}

std::shared_ptr<cell> cell::other_side() const {
    using backend::kind;
    if (key_.of == kind::shared_read) return core_->cell_of({kind::shared_write, key_.name});
    if (key_.of == kind::shared_write) return core_->cell_of({kind::shared_read, key_.name});
    return nullptr;
}

std::shared_ptr<under_way> cell::acquire_later(const acquisition& how, callback<void(outcome)> done) {
    const core::call here(*core_);
    if (auto no = refuse(how)) {
        done(std::move(*no));
        return nullptr;
    }
    return background_acquire::begin(shared_from_this(), how, std::move(done));
}

std::optional<failed> cell::refuse(const acquisition& how) const {
    if (how.ttl && *how.ttl <= milliseconds::zero()) {
        return failed{errc::invalid_argument,
                      "a ttl must be 1 ms or more, and " + base::to_text(*how.ttl) + " was given",
                      {}};
    }
    if (const auto most = engine::rules_of(key_.of).most_permits; how.permits == 0 || how.permits > most) {
        return failed{errc::invalid_argument,
                      most > 1 ? "1 to " + std::to_string(most) + " permits can be acquired at a time"
                               : called() + " has no permits to choose from",
                      {}};
    }
    if (how.replicas.at_least > 0) {
        if (!core_->store().has().replicas)
            return failed{errc::invalid_argument,
                          "this store has no replicas that could confirm a grant of " + called(),
                          {}};
        if (terms_of(how).lease < 3 * how.replicas.within)
            return failed{errc::invalid_argument,
                          "replication::within must be less than a third of the lease, and " +
                              base::to_text(how.replicas.within) + " was given for one of " +
                              base::to_text(terms_of(how).lease),
                          {}};
    }
    if (core_->forked())
        return failed{
            errc::forked, "this client was made before fork(); make a new one in the child process", {}};
    if (!core_->usable()) return failed{errc::closed, "the client was destroyed", {}};
    if (const auto no = core_->objection_to(name())) return describe(*no, {});
    return std::nullopt;
}

engine::lease_terms cell::terms_of(const acquisition& how) const {
    return {std::min(how.ttl.value_or(core_->settings.lease), longest_lease), how.renew.value_or(!how.ttl),
            how.replicas};
}

// A thread that holds the lock by lock() asks again.
std::optional<cell::outcome> cell::enter_again(const acquisition& how) {
    if (!how.by_thread) return std::nullopt;
    base::guard lock(mutex_);
    const auto mine = std::find_if(threads_.begin(), threads_.end(),
                                   [&](const auto& t) { return t.thread == this_thread()->serial; });
    if (mine == threads_.end()) return std::nullopt;
    if (!engine::rules_of(key_.of).reentrant) {
        if (!how.give_up_at) return failed{errc::timed_out, {}, {}};
        return failed{
            errc::would_deadlock,
            "this thread already holds the mutex \"" + name().printable() + "\", which is not recursive",
            {}};
    }
    const auto& t = mine->lease;
    auto* const now = occupied_by(t);
    if (now == nullptr || !t->valid()) {
        return failed{
            errc::lost,
            "this thread's hold of the lock \"" + name().printable() + "\" has ended; unlock it first",
            {}};
    }
    ++mine->depth;
    ++now->holds;
    core_->counts.reentered.add();
    const auto wants = terms_of(how);
    if (wants.renewed && (!t->renewed() || wants.lease > t->lease())) core_->keep_renewed(t, wants.lease);
    core_->renew_now(t, now->holds, wants.lease);
    return std::make_shared<hold_of_one>(shared_from_this(), t);
}

cell::outcome cell::reenter(const hold& of) {
    const auto* const outer = dynamic_cast<const hold_of_one*>(&of);
    if (outer == nullptr || outer->in.get() != this || outer->result) {
        return failed{errc::not_owner, "the lease given is not one of " + called(), {}};
    }
    const auto& t = outer->of;
    base::guard lock(mutex_);
    auto* const now = occupied_by(t);
    if (now == nullptr || !t->valid()) {
        return failed{errc::lost, "the lease of " + called() + " has ended", {}};
    }
    ++now->holds;
    core_->counts.reentered.add();
    core_->renew_now(t, now->holds);
    return std::make_shared<hold_of_one>(shared_from_this(), t);
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
                if (auto* const now = occupied_by(mine)) core_->renew_now(mine, --now->holds);
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
        base::misuse("unlock() by a thread that does not hold the lock");
    }
}

release_result cell::release(hold_of_one& h) noexcept {
    if (!h.result) {
        h.result = core_->forked() ? release_result{release_outcome::already_lost, {}} : end_hold(h.of);
    }
    return *h.result;
}

release_result cell::end_hold(const std::shared_ptr<tenancy>& t) {
    const core::call here(*core_);
    auto now = boot_clock::now();
    auto of_store = word::none;
    if (wants_word(t, now)) {
        const auto until = word_until(now);
        const auto held =
            ask<bool>(*core_, until, [&](auto handler) { core_->confirm(t, until, std::move(handler)); });
        if (held == true) of_store = word::still_held;
    }
    if (const auto at_once = let_go(t, of_store, now)) return *at_once;
    now = boot_clock::now();
    auto machine = releasing(*t);
    auto action = machine.begin(now);
    const auto without_answer = [&] {
        return released(t, {{release_outcome::unknown_until, {}}, {}, {make_error_code(errc::closed)}});
    };
    while (!std::holds_alternative<engine::release_done>(action)) {
        if (const auto* retry = std::get_if<engine::retry_release>(&action)) {
            if (!pause(*core_, retry->at)) return without_answer();
            now = boot_clock::now();
            action = machine.begin(now);
            continue;
        }
        const auto until = std::get<engine::send_release>(action).until;
        const auto answer = ask<backend::release_answer>(*core_, until, [&](auto handler) {
            core_->store().release({key_, t->owner, false}, core_->send_by(now, until), std::move(handler));
        });
        now = boot_clock::now();
        if (!answer && now >= core_->waits_until()) return without_answer();
        action = answer ? machine.on_answer(*answer, now) : machine.on_elapsed(now);
    }
    return released(t, std::get<engine::release_done>(action));
}

void cell::release_later(const std::shared_ptr<hold_of_one>& h, callback<void(release_result)> done) {
    const core::call here(*core_);
    if (!h->result && core_->forked()) h->result = release_result{release_outcome::already_lost, {}};
    if (!h->result) {
        core_->begin_errand();
        const auto now = boot_clock::now();
        if (wants_word(h->of, now))
            return background_release::ask_and_begin(shared_from_this(), h->of, std::move(done));
        h->result = let_go(h->of, word::none, now);
        if (!h->result) return background_release::begin(shared_from_this(), h->of, std::move(done));
        core_->end_errand();
    }
    if (done) done(*h->result);
}

bool cell::wants_word(const std::shared_ptr<tenancy>& t, time_point now) {
    if (!engine::rules_of(key_.of).taken_by_force || !core_->usable()) return false;
    base::guard lock(mutex_);
    const auto* const here = occupied_by(t);
    return here != nullptr && here->holds == 1 && t->valid() && heir_of(*here, now) != nullptr;
}

// It only saves something. Without a soon answer the lock is released, and that waits for its own.
time_point cell::word_until(time_point now) const { return now + core_->settings.answer_timeout / 4; }

// `now` is when the store was asked, if it was: that the answer takes long keeps nobody from passing it on.
std::optional<release_result> cell::let_go(const std::shared_ptr<tenancy>& t, word of_store, time_point now) {
    if (!core_->usable()) {
        // close() gives back what is held; it does not wait for a call that began after it.
        core_->lose(t, "the client was closed");
        return release_result{release_outcome::already_lost, {}};
    }
    {
        base::guard lock(mutex_);
        if (auto* const here = occupied_by(t)) {
            if (here->holds > 1 && t->valid()) {
                core_->renew_now(t, --here->holds);
                return release_result{release_outcome::released, {}};
            }
            if (const auto next = pass_on(*here, of_store, now)) {
                lock.unlock();
                next->call();
                return release_result{release_outcome::released, {}};
            }
        }
    }
    if (t->valid() && t->move_to(lease_state::released)) {
        // Nobody renews it any more, then the store is told.
        core_->ended(*t, now);
        return std::nullopt;
    }
    core_->lose(t, "its time was over when it was released");
    on_lost(t);  // if another thread tells the loss just now, it may not be there yet
    if (is_last_hold(t)) core_->free_what_is_over(t);
    return release_result{release_outcome::already_lost, {}};
}

// The next thread in line, if the lock may be passed on to it.
std::shared_ptr<waiter> cell::heir_of(const occupancy& from, time_point now) {
    auto next = gate_.next();
    const tenancy& t = *from.lease;
    // The reader beside it is to be the only one inside, or one of the readers.
    if (!next || t.state() != lease_state::held || t.read_beside ||
        !engine::may_pass_on(t.grant, t.terms(), next->wants, t.deadline(), core_->settings.local_turns, now))
        return nullptr;
    return next;
}

// The next thread in line has the lock from now on, with what is left of the lease; the store is not told.
// Returns that thread, which is to be called; empty if it must be released.
std::shared_ptr<waiter> cell::pass_on(occupancy& from, word of_store, time_point now) {
    if (engine::rules_of(key_.of).taken_by_force && of_store == word::none) return nullptr;
    auto next = heir_of(from, now);
    tenancy& t = *from.lease;
    if (!next || !t.move_to(lease_state::released)) return nullptr;
    // The store gives fences in steps that leave room for these.
    const auto token = t.token == fence::none ? t.token : static_cast<fence>(to_number(t.token) + 1);
    const auto successor = std::make_shared<tenancy>(key_, t.owner, t.terms(), token, t.deadline(), now);
    successor->acks = t.acks;
    successor->grant = t.grant;
    ++successor->grant.turns;
    successor->stray = t.stray;
    successor->home = weak_from_this();
    successor->watch = std::move(t.watch);
    successor->thread = next->thread;
    successor->hears = t.hears;
    core_->passed_on(t, successor, now - next->called_at);
    // The first holder may be gone soon. A message that comes before this finds the heir by it.
    if (successor->hears) successor->hears->passed_on_to(successor);
    (void)gate_.leave(from.place);
    from = {successor, 1, next};
    next->passed_on = successor;
    return next;
}

backend::adjust_answer cell::disown(hold_of_one& h) {
    const core::call here(*core_);
    const auto& t = h.of;
    if (!core_->usable() || !t->valid() || !t->move_to(lease_state::released)) return backend::adjusted{0};
    core_->ended(*t, boot_clock::now());
    core_->counts.released.add();
    h.result = release_result{release_outcome::released, {}};
    auto answer = adjust(
        *core_, {key_, backend::adjustment::disown, 0, core_->store().new_owner(key_.of, 1), t->owner});
    // Also where an attempt may still arrive: it would take them a second time.
    if (t->stray || !std::holds_alternative<backend::adjusted>(answer))
        core_->undo(key_, t->owner, t->lease(), true);
    t->watch.reset();
    base::guard lock(mutex_);
    (void)vacate(t);  // it has no place in the line
    return answer;
}

engine::release cell::releasing(const tenancy& t) const {
    return engine::release{{t.deadline(), core_->settings.answer_timeout}};
}

// What follows the store's last word.
release_result cell::released(const std::shared_ptr<tenancy>& t, engine::release_done done) {
    t->watch.reset();
    const auto end = done.result.outcome;
    if (end == release_outcome::unknown_until) done.result.until = core_->store_frees(*t, boot_clock::now());
    if (end == release_outcome::unknown_until || t->stray) core_->undo(key_, t->owner, t->lease(), true);
    if (end == release_outcome::released) {
        core_->counts.released.add();
        core_->tell(event_kind::released, &name(), {}, {}, t->token);
    } else if (end == release_outcome::already_lost) {
        core_->counts.lost.add();
        core_->tell(event_kind::lost, &name(),
                    "the store says that it was not held any more when it was released", errc::lost,
                    t->token);
    } else {
        core_->tell(event_kind::release_failed, &name(),
                    "the store did not answer; it frees the lock by itself", done.reason.code, t->token);
    }

    std::shared_ptr<waiter> next;
    {
        base::guard lock(mutex_);
        expect_queue_ = done.told.handed_over;
        if (done.told.listeners > 0) {
            // About a round trip for the message and one for the answer to it, spread.
            const auto trip = std::max<boot_clock::duration>(core_->store().seen().round_trip,
                                                             std::chrono::microseconds{50});
            not_before_ = boot_clock::now() +
                          std::chrono::duration_cast<boot_clock::duration>(trip * (1 + 2 * base::jitter()));
        }
        next = vacate(t);
    }
    if (next) next->call();
    return done.result;
}

void cell::turn_away() {
    base::guard lock(mutex_);
    gate_.each([](const std::shared_ptr<waiter>& w) { w->push(engine::cancelled{}); });
}

void cell::on_lost(const std::shared_ptr<tenancy>& t) {
    std::shared_ptr<waiter> next;
    bool reads_on = false;
    {
        base::guard lock(mutex_);
        if (!t->thread || !t->thread->alive.load())
            std::erase_if(threads_, [&](const auto& h) { return h.lease == t; });
        next = vacate(t);
        reads_on = t->read_beside;
    }
    // The reader keeps the key alive, and other readers out while it says that somebody writes.
    if (reads_on && !core_->keeps(*t)) core_->undo(key_, t->owner, t->lease(), false);
    if (next) next->call();
}

// Where the lock is kept for those who are at work: its nested holds may be, after one of them.
bool cell::is_last_hold(const std::shared_ptr<tenancy>& t) {
    if (!core_->keeps(*t)) return true;
    base::guard lock(mutex_);
    if (t->open_holds <= 1) return true;
    --t->open_holds;
    return false;
}

void cell::heard(const backend::attempt_answer& answer) {
    const auto* unknown = std::get_if<backend::unknown>(&answer);
    const auto* refused = std::get_if<backend::refused>(&answer);
    const bool trouble = unknown != nullptr || (refused != nullptr && refused->code == condition::try_later);
    if (!trouble && !in_trouble_.load(std::memory_order_relaxed)) return;
    base::guard lock(mutex_);
    in_trouble_.store(trouble, std::memory_order_relaxed);
    trouble_ = !trouble             ? backend::failure{}
               : unknown != nullptr ? backend::failure{*unknown}
                                    : refused->why();
}

failed cell::not_had() const {
    if (trouble_.code) return describe(trouble_, {});
    return {errc::timed_out, {}, {}};
}

cell::occupancy* cell::occupied_by(const std::shared_ptr<tenancy>& t) {
    const auto it =
        std::find_if(tenants_.begin(), tenants_.end(), [&](const auto& o) { return o.lease == t; });
    return it == tenants_.end() ? nullptr : &*it;
}

std::shared_ptr<waiter> cell::vacate(const std::shared_ptr<tenancy>& t) {
    auto* const it = occupied_by(t);
    if (it == nullptr) return nullptr;
    const auto place = std::move(it->place);
    t->open_holds = it->holds;
    tenants_.erase(tenants_.begin() + (it - tenants_.data()));
    return gate_.leave(place);
}

void cell::leave(const std::shared_ptr<waiter>& me) {
    std::shared_ptr<waiter> next;
    {
        base::guard lock(mutex_);
        next = gate_.leave(me);
    }
    if (next) next->call();
}

void cell::check_usable() const { core_->check_usable(); }

std::optional<cell::standing> cell::held_here() const {
    const auto t = own_lease();
    if (t == nullptr) return std::nullopt;
    return standing{t->valid(), t->token};
}

std::shared_ptr<tenancy> cell::own_lease() const {
    if (core_->forked()) return nullptr;
    base::guard lock(mutex_);
    for (const auto& t : threads_) {
        if (t.thread == this_thread()->serial) return t.lease;
    }
    return nullptr;
}

std::string cell::called() const {
    const auto quoted = " \"" + name().printable() + "\"";
    if (key_.of == backend::kind::latch) return "the latch" + quoted;
    return (engine::rules_of(key_.of).most_permits > 1 ? "the semaphore" : "the lock") + quoted;
}

failed cell::describe(const backend::failure& why, const std::string& holder) const {
    const bool waits_only = key_.of == backend::kind::latch;
    std::string sentence = called() + (waits_only ? " could not be waited for" : " could not be acquired");
    if (why.code == errc::timed_out) sentence = called() + " is held by somebody else";
    if (why.code == errc::timed_out && !holder.empty()) sentence += " (" + base::printable(holder) + ")";
    if (why.code == errc::wrong_kind && why.text.empty())
        sentence =
            "the key \"" + name().printable() + "\" holds something else than " +
            (waits_only || engine::rules_of(key_.of).most_permits > 1 ? "a count" : "this kind of lock");
    const bool says_why = why.code == errc::timed_out || why.code == errc::wrong_kind;
    if (!why.text.empty())
        sentence += " (" + base::printable(why.text) + ")";
    else if (!says_why)
        sentence += ": " + why.code.message();
    return {why.code, std::move(sentence), why.server_text};
}

}  // namespace holdfast::session
