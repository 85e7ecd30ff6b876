#include "session/client_lock.hpp"

#include "base/misuse.hpp"
#include "base/text.hpp"
#include "session/acquire_operation.hpp"
#include "session/async_operations.hpp"
#include "session/blocking_call.hpp"
#include "session/client_state.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::session {

namespace {

// Beyond it PEXPIRE and arithmetic overflow, and no caller needs it.
constexpr milliseconds longest_lease = std::chrono::hours{24} * 365;

}  // namespace

client_lock::client_lock(std::shared_ptr<client_state> of, backend::lock_key key, std::string policy)
    : client_(std::move(of)),
      key_(std::move(key)),
      policy_(std::move(policy)),
      store_(client_->store_of(policy_)),
      counts_(client_->counts.of(key_.name.str())),
      queue_(engine::rules_of(key_.of).threads) {}

client_lock::~client_lock() {
    if (!client_->usable()) return;
    for (const auto& left : threads_) {
        const auto& t = left.lease;
        // If the holding thread has ended, holder_gone reports it.
        if (!t->valid() || !t->thread->alive.load(std::memory_order_acquire)) continue;
        client_->let_expire(t);
        client_->report(
            event_kind::release_failed, &name(),
            "the lock object was destroyed while a thread held it by lock(); its lease is no longer renewed",
            errc::not_owner, t->fence);
        base::misuse("a lock object was destroyed while a thread held it by lock()");
    }
}

client_lock::outcome client_lock::acquire(const acquisition& how) {
    const client_state::call here(*client_);
    if (auto no = refuse(how)) return std::move(*no);
    if (auto again = reenter_by_thread(how)) return std::move(*again);
    if (const auto other = how.by_thread ? other_side() : nullptr) {
        if (const auto held = other->own_lease()) return acquire_other_side(held, how);
    }
    return pursue(how);
}

client_lock::outcome client_lock::pursue(const acquisition& how) {
    acquire_operation way(shared_from_this(), how);
    const std::stop_callback on_stop(how.stop, [&way] { way.cancel(); });
    for (;;) {
        if (auto end = way.advance()) return std::move(*end);
        way.wait();
    }
}

// This thread has the lease `held` of the other side.
client_lock::outcome client_lock::acquire_other_side(const std::shared_ptr<held_lease>& held,
                                                     acquisition how) {
    if (key_.of == backend::kind::shared_read) return downgrade(held, std::move(how));
    if (!how.give_up_at) return failed{errc::timed_out, {}, {}};
    return failed{errc::would_deadlock,
                  "this thread reads under the lock \"" + name().printable() +
                      "\", and a reader cannot become the writer; unlock_shared() first",
                  {}};
}

client_lock::outcome client_lock::acquire_downgraded(const hold& of, acquisition how) {
    const client_state::call here(*client_);
    if (auto no = refuse(how)) return std::move(*no);
    const auto* const other = dynamic_cast<const hold_of_one*>(&of);
    if (other == nullptr || other->in != other_side() || other->result()) {
        return failed{errc::not_owner,
                      "the lease given is not one of the writer of the lock \"" + name().printable() + "\"",
                      {}};
    }
    return downgrade(other->of, std::move(how));
}

client_lock::outcome client_lock::downgrade(const std::shared_ptr<held_lease>& writer, acquisition how) {
    {
        const auto writers = other_side();
        base::guard lock(writers->mutex_);
        if (!writer->valid()) return failed{errc::lost, "the lease of " + called() + " has ended", {}};
        if (!store_.has().downgrades) {
            if (!how.give_up_at) return failed{errc::timed_out, {}, {}};
            return failed{errc::would_deadlock,
                          "the writer of " + called() +
                              " cannot read as well: this store has no step from one to the other",
                          {}};
        }
        writer->read_by_writer = true;
    }
    how.downgrading_from = writer->owner;
    return pursue(how);
}

std::shared_ptr<client_lock> client_lock::other_side() const {
    using backend::kind;
    if (key_.of == kind::shared_read) return client_->lock_of({kind::shared_write, key_.name}, policy_);
    if (key_.of == kind::shared_write) return client_->lock_of({kind::shared_read, key_.name}, policy_);
    return nullptr;
}

std::shared_ptr<under_way> client_lock::acquire_later(const acquisition& how, callback<void(outcome)> done) {
    const client_state::call here(*client_);
    if (auto no = refuse(how)) {
        done(std::move(*no));
        return nullptr;
    }
    return async_acquire::begin(shared_from_this(), how, std::move(done));
}

std::optional<failed> client_lock::refuse(const acquisition& how) const {
    if (client_->forked())
        return failed{
            errc::forked, "this client was made before fork(); make a new one in the child process", {}};
    if (!client_->usable()) return failed{errc::closed, "the client was destroyed", {}};
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
    const auto& rules = engine::rules_of(key_.of);
    const auto given = store_.has().guarantee;
    const auto most = given == strength::quorum && rules.fenced ? strength::fenced_quorum : given;
    if (how.at_least > most)
        return failed{errc::too_weak,
                      called() + " is to be held with the strength " + std::string{to_string(how.at_least)} +
                          ", and this store gives " + std::string{to_string(most)},
                      {}};
    if (how.replicas.at_least > 0) {
        if (!store_.has().replicas)
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
    if (const auto no = client_state::objection_to(key_, store_)) return describe(*no, {});
    return std::nullopt;
}

engine::lease_terms client_lock::terms_of(const acquisition& how) const {
    return {std::min(how.ttl.value_or(client_->settings.lease), longest_lease), how.renew.value_or(!how.ttl),
            how.replicas, how.at_least};
}

// For a thread that holds the lock by lock() and asks again.
std::optional<client_lock::outcome> client_lock::reenter_by_thread(const acquisition& how) {
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
    auto* const now = holding_of(t);
    if (now == nullptr || !t->valid()) {
        return failed{
            errc::lost,
            "this thread's hold of the lock \"" + name().printable() + "\" has ended; unlock it first",
            {}};
    }
    const auto wants = terms_of(how);
    if (wants.renewed && (!t->renewed() || wants.lease > t->lease())) client_->keep_renewed(t, wants.lease);
    client_->renew_now(t, now->holds + 1, wants.lease);
    ++mine->depth;
    ++now->holds;
    counts_.reentered.add();
    return std::shared_ptr<hold>{};  // only unlock() ends it: it also counts the thread's depth
}

client_lock::outcome client_lock::reenter(const hold& of) {
    const auto* const outer = dynamic_cast<const hold_of_one*>(&of);
    if (outer == nullptr || outer->in.get() != this || outer->result()) {
        return failed{errc::not_owner, "the lease given is not one of " + called(), {}};
    }
    const auto& t = outer->of;
    base::guard lock(mutex_);
    auto* const now = holding_of(t);
    if (now == nullptr || !t->valid()) {
        return failed{errc::lost, "the lease of " + called() + " has ended", {}};
    }
    auto inner = std::make_shared<hold_of_one>(shared_from_this(), t);
    client_->renew_now(t, now->holds + 1);
    ++now->holds;
    counts_.reentered.add();
    return inner;
}

bool client_lock::renew(const hold_of_one& h) {
    const client_state::call here(*client_);
    if (h.result() || !client_->usable() || !h.of->valid()) return false;
    const auto until = boot_clock::now() + client_->settings.answer_timeout;
    const auto held = blocking_call<bool>(
        *client_, until, [&](auto handler) { client_->confirm(h.of, until, std::move(handler)); });
    return held == true && h.of->valid();
}

void client_lock::cancel_waiters() {
    base::guard lock(mutex_);
    queue_.each([](const std::shared_ptr<waiter>& w) { w->push(engine::cancelled{}); });
}

void client_lock::record_trouble(const backend::attempt_answer& answer) {
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

failed client_lock::not_had() const {
    if (trouble_.code) return describe(trouble_, {});
    return {errc::timed_out, {}, {}};
}

time_point client_lock::called_at(const waiter& w) { return w.called_at; }

client_lock::holding* client_lock::holding_of(const std::shared_ptr<held_lease>& t) {
    const auto it =
        std::find_if(holdings_.begin(), holdings_.end(), [&](const auto& o) { return o.lease == t; });
    return it == holdings_.end() ? nullptr : &*it;
}

std::shared_ptr<waiter> client_lock::remove_holding(const std::shared_ptr<held_lease>& t) {
    auto* const it = holding_of(t);
    if (it == nullptr) return nullptr;
    const auto place = std::move(it->place);
    holdings_.erase(holdings_.begin() + (it - holdings_.data()));
    return queue_.leave(place);
}

void client_lock::leave(const std::shared_ptr<waiter>& me) {
    std::shared_ptr<waiter> next;
    {
        base::guard lock(mutex_);
        next = queue_.leave(me);
    }
    if (next) next->call();
}

void client_lock::check_usable() const { client_->check_usable(); }

std::optional<lockable::thread_status> client_lock::held_here() const {
    const auto t = own_lease();
    if (t == nullptr) return std::nullopt;
    return thread_status{t->valid(), t->fence};
}

std::shared_ptr<held_lease> client_lock::own_lease() const {
    if (client_->forked()) return nullptr;
    base::guard lock(mutex_);
    for (const auto& t : threads_) {
        if (t.thread == this_thread()->serial) return t.lease;
    }
    return nullptr;
}

std::string client_lock::called() const {
    const auto quoted = " \"" + name().printable() + "\"";
    if (key_.of == backend::kind::latch) return "the latch" + quoted;
    return (engine::rules_of(key_.of).most_permits > 1 ? "the semaphore" : "the lock") + quoted;
}

failed client_lock::describe(const backend::failure& why, const std::string& holder) const {
    const bool waits_only = key_.of == backend::kind::latch;
    std::string sentence = called() + (waits_only ? " could not be waited for" : " could not be acquired");
    if (why.code == errc::timed_out) {
        const bool has_permits = engine::rules_of(key_.of).most_permits > 1;
        sentence = called() + (waits_only    ? " has not reached zero"
                               : has_permits ? " has too few free permits"
                                             : " is held by another owner");
    }
    if (why.code == errc::timed_out && !holder.empty()) sentence += " (" + base::printable(holder) + ")";
    if (why.code == errc::wrong_kind && why.text.empty())
        sentence =
            "the key \"" + name().printable() + "\" does not hold " +
            (waits_only || engine::rules_of(key_.of).most_permits > 1 ? "a count" : "this kind of lock");
    const bool says_why = why.code == errc::timed_out || why.code == errc::wrong_kind;
    if (!why.text.empty())
        sentence += " (" + base::printable(why.text) + ")";
    else if (!says_why)
        sentence += ": " + why.code.message();
    return {why.code, std::move(sentence), why.server_text};
}

}  // namespace holdfast::session
