#include "session/client_state.hpp"

#include "base/parker.hpp"
#include "base/text.hpp"
#include "engine/retry_policy.hpp"
#include "session/client_lock.hpp"
#include "store/inspection.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace holdfast::session {

namespace {

// A client listens for requests to give up a lease once the lease is this old.
constexpr milliseconds heard_after{50};

// Each lease is lost once, so the number of held leases bounds the queue; a loss is never dropped.
constexpr io::notifier::limits for_losses{16, std::numeric_limits<std::size_t>::max()};
constexpr io::notifier::limits for_other_calls{1, observe::bus::most_queued};

}  // namespace

std::shared_ptr<client_state> client_state::open(config settings, const store_opener& opener,
                                                 const policy_opener& policies) {
    std::shared_ptr<client_state> c(new client_state(std::move(settings)));
    c->store_ = opener(*c);
    if (policies) c->add(policies(*c));
    c->strength_ = c->store_->has().guarantee;
    if (c->store_->has().counted_by == backend::lease_clock::of_this_host) c->clock_margin_.drift = 0;
    return c;
}

void client_state::add(opened_policies all) {
    policy_stores_ = std::move(all.stores);
    beside_policies_ = std::move(all.beside);
    source_is_down_ = std::move(all.source_is_down);
    base::guard lock(mutex_);  // the store's first connection may be up
    for (const auto& one : policy_stores_) on_link_up_.push_back(one.on_link_up);
}

client_state::client_state(config s)
    : settings(std::move(s)),
      counts(settings.families),
      clock_margin_{settings.drift, settings.margin},
      reactor_(std::make_unique<io::reactor>()),
      losses_(
          *reactor_, settings.slow_callback, [this] { report_slow_callback(); }, for_losses),
      events_(*reactor_, settings.slow_callback, [this] { report_slow_callback(); }),
      timetable_(settings.renew_after) {}

client_state::~client_state() {
    if (!closed_.load()) close();
}

void client_state::close() {
    if (closed_.exchange(true)) return;
    const auto enough = engine::later(boot_clock::now(), settings.close_timeout);
    waits_until_.store(enough);
    if (forked()) {
        // Mutexes of the parent's other threads may stay locked for ever here: leave everything as it is.
        for (const auto& one : policy_stores_) one.store->abandon();
        store_->abandon();
        reactor_->abandon();
        new std::shared_ptr<client_state>(shared_from_this());
        return;
    }
    cancel_callers();
    std::vector<std::shared_ptr<held_lease>> open;
    {
        base::guard lock(mutex_);
        for (const auto& [id, t] : leases_) open.push_back(t);
    }
    // No lease may look valid when its release reaches the store: another owner may be granted the lock then.
    for (const auto& t : open) lose(t, observe::loss::closed, "the client was closed");
    for (const auto& t : open) undo(*t, false);
    free_what_was_evicted();
    base::parker me;
    for (;;) {
        {
            base::guard lock(mutex_);
            if (pending_ == 0 && !has_pending()) break;
        }
        const auto now = boot_clock::now();
        if (now >= enough) break;
        me.park_until(std::min(enough, now + milliseconds{1}));
    }
    finish_callbacks(enough);
    // Posted tasks and timers that run later leave the store alone; wait for the one that runs now.
    store_gone_.store(true);
    reactor_->run_and_wait([] {});
    for (const auto& one : policy_stores_) one.store->leave_by(enough);
    if (store_) store_->leave_by(enough);
    beside_policies_.reset();
    {
        base::guard lock(mutex_);
        on_link_up_.clear();
    }
    policy_stores_.clear();
    store_.reset();
    reactor_.reset();
}

bool client_state::has_pending() const noexcept {
    for (const auto& one : policy_stores_)
        if (one.store->has_pending()) return true;
    return store_ && store_->has_pending();  // no store: open() failed
}

void client_state::finish_callbacks(time_point until) {
    losses_.finish(until);
    std::shared_ptr<io::notifier> others;
    {
        base::guard lock(mutex_);
        others = other_calls_;
    }
    if (others) others->finish(until);
    events_.finish(until);
}

void client_state::cancel_callers() {
    std::vector<std::shared_ptr<client_lock>> open;
    {
        base::guard lock(mutex_);
        for (const auto& [key, known] : locks_) {
            if (auto c = known.lock()) open.push_back(std::move(c));
        }
    }
    for (const auto& c : open) c->cancel_waiters();
    base::parker me;
    while (calls_.load() > 0) me.park_until(boot_clock::now() + milliseconds{1});
}

bool client_state::usable() const noexcept { return !closed_.load() && !forked(); }

void client_state::check_usable() const {
    if (forked()) {
        throw error(errc::forked, "this client was made before fork(); make a new one in the child process");
    }
    if (closed_.load(std::memory_order_relaxed)) throw error(errc::closed, "the client was destroyed");
}

std::optional<backend::failure> client_state::objection_to(const lock_name& name, const backend::store& in) {
    const auto kept = in.reserved_for(name);
    if (kept.empty()) return std::nullopt;
    return backend::failure{errc::invalid_argument,
                            "no lock may be called \"" + name.printable() + "\", it is " + std::string{kept}};
}

std::optional<backend::failure> client_state::objection_to(const backend::lock_key& key,
                                                           const backend::store& in) {
    if (const auto why = in.unsupported(key.of); !why.empty())
        return backend::failure{errc::invalid_argument, std::string{why}};
    return objection_to(key.name, in);
}

backend::store& client_state::store_of(std::string_view policy) const noexcept {
    for (const auto& one : policy_stores_)
        if (one.policy == policy) return *one.store;
    return *store_;
}

std::shared_ptr<client_lock> client_state::lock_of(const backend::lock_key& key, const std::string& policy) {
    base::guard lock(mutex_);
    auto& known = locks_[key];
    auto c = known.lock();
    if (!c) known = c = std::make_shared<client_lock>(shared_from_this(), key, policy);
    if (c->policy() != policy)
        throw error(errc::invalid_argument, "this client already has a lock \"" + key.name.printable() +
                                                "\" with another policy: \"" + c->policy() + "\", not \"" +
                                                policy + '"');
    if (++lock_lookups_ % 1024 == 0)
        std::erase_if(locks_, [](const auto& entry) { return entry.second.expired(); });
    return c;
}

// --- leases ---------------------------------------------------------------------------------------

void client_state::began(const std::shared_ptr<held_lease>& t, boot_clock::duration waited) {
    auto& c = *t->counts;
    c.held.add();  // before it can end
    try {
        base::guard lock(mutex_);
        begin_renewal(t);
    } catch (...) {
        c.held.subtract();
        throw;
    }
    c.acquired.add();
    c.grants[static_cast<std::size_t>(t->strength(t->store.has().guarantee))].add();
    c.wait.add(waited);
    listen_for_evictions_soon();
    if (events_.anybody()) report(event_kind::acquired, &t->key.name, {}, {}, t->fence);
}

void client_state::begin_renewal(const std::shared_ptr<held_lease>& t) {
    t->id = next_id_++;
    leases_.emplace(t->id, t);
    try {
        timetable_.add(t->id, t->own_deadline(), t->lease(), t->renewed(), t->since);
        arm();
        if (t->bound) watch_bound(t->bound);
    } catch (const std::bad_alloc&) {
        timetable_.remove(t->id);
        leases_.erase(t->id);
        throw;
    }
}

void client_state::handed_off(held_lease& t, const std::shared_ptr<held_lease>& next,
                              boot_clock::duration waited) {
    next->counts = t.counts;
    auto& c = *t.counts;
    c.released.add();
    c.hold.add(next->since - t.since);
    c.acquired.add();
    c.grants[static_cast<std::size_t>(t.strength(t.store.has().guarantee))].add();
    c.wait.add(waited);
    {
        base::guard lock(mutex_);
        c.used_at_release.add(next->since - t.counted_from(), t.lease());
        next->renewed_by = t.counted_from();
        timetable_.remove(t.id);
        leases_.erase(t.id);
        t.successor = next;
        // The store answered "lost" before the successor was linked: the next thread goes back into the
        // queue.
        if (t.not_held) next->expire();
        next->expiry = std::move(t.expiry);
        begin_renewal(next);
    }
    listen_for_evictions_soon();
    if (!events_.anybody()) return;
    report(event_kind::released, &t.key.name, {}, {}, t.fence);
    report(event_kind::acquired, &next->key.name, {}, {}, next->fence);
}

void client_state::ended(const held_lease& t, time_point now) {
    {
        base::guard lock(mutex_);
        timetable_.remove(t.id);
        if (leases_.erase(t.id) == 0) return;
        if (t.state() == lease_state::released)
            t.counts->used_at_release.add(now - t.counted_from(), t.lease());
    }
    t.counts->held.subtract();
    t.counts->hold.add(now - t.since);
}

bool client_state::lose(const std::shared_ptr<held_lease>& t, observe::loss as, const std::string& why) {
    if (!t->move_to(lease_state::lost)) return false;
    t->counts->lose(as);
    ended(*t, boot_clock::now());
    t->watch.reset();
    // Let other waiters try before the loss is reported: a thread that learns of it may try at once.
    if (const auto c = t->home.lock()) c->on_lost(t);
    if (auto asked = t->end_lost(); asked.stop_possible())
        losses_.post([asked = std::move(asked)]() mutable { asked.request_stop(); });
    report(event_kind::lost, &t->key.name, why, errc::lost, t->fence);
    return true;
}

bool client_state::give_up(const owner_id& owner, const std::function<void()>& confirm,
                           const std::string& why) {
    std::vector<std::shared_ptr<held_lease>> held;  // a writer that reads as well has two
    bool kept = settings.keep_evicted && confirm != nullptr;
    {
        base::guard lock(mutex_);
        for (const auto& [id, t] : leases_) {
            if (t->owner == owner || t->owner.str().starts_with(owner.str() + '*')) held.push_back(t);
        }
        // Before the loss is reported: a thread that learns of it may release the lease at once.
        kept = kept && evicted_.keep(held, confirm);
    }
    const auto struck = held;
    std::erase_if(held, [&](const auto& t) { return !lose(t, observe::loss::evicted, why); });
    // A lease that was just handed off belongs to another thread of ours now, with the same owner.
    const bool all = !struck.empty() && held.size() == struck.size();
    if (kept && all) return true;
    if (kept) {
        base::guard lock(mutex_);
        for (const auto& t : struck)
            if (std::ranges::find(held, t) == held.end()) evicted_.forget(*t);
        return false;
    }
    if (all && confirm) confirm();
    for (const auto& t : held) undo(*t, t->stray);
    return all;
}

void client_state::free_what_is_over(const std::shared_ptr<held_lease>& t) {
    const auto gave_up = [&] {
        base::guard lock(mutex_);
        return evicted_.end_hold(*t);
    }();
    if (!gave_up) return;
    if (*gave_up) (*gave_up)();
    undo(*t, t->stray);
}

bool client_state::keeps(const held_lease& t) {
    base::guard lock(mutex_);
    return evicted_.keeps(t);
}

void client_state::count_holds_if_kept(const held_lease& t, std::uint32_t holds) {
    base::guard lock(mutex_);
    evicted_.count_holds(t, holds);
}

void client_state::free_what_was_evicted() {
    const auto all = [&] {
        base::guard lock(mutex_);
        return evicted_.end_all();
    }();
    for (const auto& [t, gave_up] : all) {
        if (gave_up) gave_up();
        undo(*t, t->stray);
    }
}

// Only leases that are held for a while: not every short lease is worth a connection that listens.
void client_state::listen_for_evictions() {
    if (!has_store()) return;
    // Before it reads the leases: a lease that begins from here on, which it may miss, sets the timer again.
    listens_for_evictions_.store(false);
    std::vector<std::shared_ptr<held_lease>> held;
    {
        base::guard lock(mutex_);
        for (const auto& [id, t] : leases_) held.push_back(t);
    }
    auto* const asked = store_->as_inspection();
    if (asked == nullptr) return;
    const auto now = boot_clock::now();
    bool all = false, too_young = false;
    for (const auto& t : held) {
        if (all) break;
        if (now - t->since < heard_after)
            too_young = true;
        else
            all = asked->hear_requests_for(t->key.name);
    }
    if (all)
        listens_for_evictions_.store(true);
    else if (too_young)
        listen_for_evictions_soon();
}

void client_state::listen_for_evictions_soon() {
    if (listens_for_evictions_.load(std::memory_order_relaxed) || listens_for_evictions_.exchange(true))
        return;
    reactor_->at(boot_clock::now() + heard_after, [this] { listen_for_evictions(); });
}

time_point client_state::store_frees(const held_lease& t, time_point now) {
    base::guard lock(mutex_);
    const auto by_requests = std::max(now, t.expiry.time(clock_margin_, settings.answer_timeout));
    // A closed client ends its session.
    if (!has_store() || t.store.has().ends != backend::lease_end::by_session) return by_requests;
    // The release is repeated until the store has carried it out, or has ended the session of a client whose
    // messages do not arrive.
    const engine::lease_request session{now, t.store.session_timeout()};
    return std::max(by_requests,
                    session.expires_by(clock_margin_, engine::carried_out_within(settings.answer_timeout)));
}

time_point client_state::send_by(time_point now, time_point until) const {
    const auto left = std::max<boot_clock::duration>(until - now, milliseconds{0});
    return until - std::min<boot_clock::duration>(left, settings.answer_timeout) / 8;
}

void client_state::begin_pending() {
    base::guard lock(mutex_);
    ++pending_;
}

void client_state::end_pending() {
    base::guard lock(mutex_);
    --pending_;
}

void client_state::undo(backend::store& in, const backend::lock_key& key, const owner_id& owner,
                        milliseconds lease, bool insist) noexcept try {
    plan_undo(in, key, owner, lease)(insist);
} catch (const std::bad_alloc&) {
    if (has_store()) in.release_later(key, owner);
}

// Counts until nobody can carry the undo out any more: an exception may destroy the plan.
class client_state::pending_undo {
  public:
    explicit pending_undo(client_state& of) : of_(of) { of_.begin_pending(); }
    pending_undo(const pending_undo&) = delete;
    pending_undo& operator=(const pending_undo&) = delete;
    ~pending_undo() { of_.end_pending(); }

  private:
    client_state& of_;
};

std::function<void(bool)> client_state::plan_undo(backend::store& in, const backend::lock_key& key,
                                                  const owner_id& owner, milliseconds lease) {
    return [self = shared_from_this(), at = &in, pending = std::make_shared<const pending_undo>(*this),
            r = backend::release_request{key, owner, true}, lease](bool insist) {
        try {
            self->reactor_->post([state = self.get(), at, pending, r, lease, insist] {
                state->send_undo(*at, r, lease, insist, 0, pending);
            });
        } catch (const std::bad_alloc&) {
            if (self->has_store()) at->release_later(r.key, r.owner);
        }
    };
}

void client_state::send_undo(backend::store& in, const backend::release_request& r, milliseconds lease,
                             bool insist, unsigned round,
                             const std::shared_ptr<const pending_undo>& pending) {
    if (!has_store()) return;
    const bool by_session = in.has().ends == backend::lease_end::by_session;
    const auto session = sessions_lost_.load();
    in.release(r, boot_clock::now() + settings.answer_timeout,
               [=, this, at = &in, pending = pending](const backend::release_answer& a) mutable {
                   pending.reset();
                   const bool answered = std::holds_alternative<backend::released>(a) ||
                                         std::holds_alternative<backend::not_held>(a);
                   if (closed_.load()) return;
                   // No time frees it while the session lives: the last of the planned releases waits
                   // for the latest arrival of an attempt, and one without an answer is repeated, ever
                   // less often.
                   if (by_session && session != sessions_lost_.load()) return;
                   auto pause = engine::pause_before_undo(
                       round + 1, by_session ? std::max(lease, engine::longest_on_its_way) : lease);
                   if (by_session && round + 1 == 3) *pause += settings.answer_timeout;
                   const auto* const refused = std::get_if<backend::refused>(&a);
                   const bool in_vain = refused != nullptr && refused->code == condition::misuse;
                   if (!pause && !answered && !in_vain && by_session)
                       pause = settings.poll_gap * (1U << std::min(round - 3, 5U));
                   if ((answered && !insist) || !pause) return;
                   reactor_->at(engine::later(boot_clock::now(), *pause),
                                [=, this] { send_undo(*at, r, lease, insist, round + 1, nullptr); });
               });
}

// --- events ---------------------------------------------------------------------------------------

void client_state::report(event_kind kind, const lock_name* lock, const std::string& detail,
                          std::error_code reason, holdfast::fence fence) noexcept try {
    counts.events[static_cast<std::size_t>(kind)].add();
    if (!events_.anybody()) return;
    event e{kind,
            lock != nullptr ? lock->printable() : std::string{},
            base::without_controls(detail),
            reason,
            fence,
            boot_clock::now()};
    if (const auto dropped = events_.emit(std::move(e)); dropped > 0) counts.events_dropped.add(dropped);
} catch (const std::exception&) {  // no memory for it
    counts.events_dropped.add();
}

void client_state::report_slow_callback() {
    report(event_kind::slow_callback, nullptr,
           "a callback runs longer than config::slow_callback; other callbacks run beside it");
}

void client_state::call_user(callback<void()> f) noexcept try {
    std::shared_ptr<io::notifier> by;
    {
        base::guard lock(mutex_);
        if (closed_.load()) return;
        if (!other_calls_)
            other_calls_ = std::make_shared<io::notifier>(
                *reactor_, settings.slow_callback, [this] { report_slow_callback(); }, for_other_calls);
        by = other_calls_;
    }
    by->post(std::move(f));
} catch (const std::exception&) {  // no thread or no memory for it
}

void client_state::report_state(event_kind kind, const std::string& detail, std::error_code reason,
                                event_kind no_more) {
    // Held during report(): a listener that subscribes meanwhile would receive this event neither as old nor
    // as new.
    base::guard lock(mutex_);
    current_events_.erase(no_more);
    current_events_.insert_or_assign(
        kind, event{kind, {}, base::without_controls(detail), reason, fence::none, boot_clock::now()});
    report(kind, nullptr, detail, reason);
}

void client_state::forget(event_kind kind) {
    base::guard lock(mutex_);
    current_events_.erase(kind);
}

event_subscription client_state::listen(std::function<void(const event&)> listener) {
    base::guard lock(mutex_);
    std::vector<event> so_far;
    for (const auto& [kind, e] : current_events_) so_far.push_back(e);
    return events_.listen(std::move(listener), so_far);
}

void client_state::report_about(const backend::notice& n, event_kind kind) {
    std::shared_ptr<held_lease> about;
    {
        base::guard lock(mutex_);
        for (const auto& [id, t] : leases_)
            if (t->owner == n.owner) about = t;
    }
    if (!about) return;
    report(kind, &about->key.name, n.detail, {}, about->fence);
    if (n.ends_lease && lose(about, observe::loss::not_owner, n.detail)) undo(*about, about->stray);
}

void client_state::on_notice(const backend::notice& n) {
    using change = backend::notice::change;
    switch (n.what) {
        case change::link_up: {
            report_state(event_kind::store_up, n.detail, {}, event_kind::store_down);
            base::guard lock(mutex_);
            timetable_.hurry(boot_clock::now());
            arm();
            watch_bounds_anew();
            for (const auto& tell : on_link_up_) tell();
            break;
        }
        case change::link_down:
            report_state(event_kind::store_down, n.detail, errc::unavailable, event_kind::store_up);
            break;
        case change::restarted: report(event_kind::store_restarted, nullptr, n.detail); break;
        case change::failed_over: report(event_kind::failed_over, nullptr, n.detail); break;
        case change::eviction_risk:
            report_state(event_kind::eviction_risk, n.detail, {}, event_kind::eviction_risk);
            break;
        case change::no_channel_right:
            report_state(event_kind::no_channel_right, n.detail, errc::no_permission,
                         event_kind::no_channel_right);
            break;
        case change::quorum_weak:
            report_state(event_kind::quorum_weak, n.detail, {}, event_kind::quorum_whole);
            break;
        case change::quorum_whole:
            forget(event_kind::quorum_double);
            report_state(event_kind::quorum_whole, n.detail, {}, event_kind::quorum_weak);
            break;
        case change::quorum_double:
            report_state(event_kind::quorum_double, n.detail, {}, event_kind::quorum_double);
            break;
        case change::quorum_even:
            report_state(event_kind::quorum_even, n.detail, {}, event_kind::quorum_even);
            break;
        case change::session_lost:
            lose_all("the session with the store has ended" + (n.detail.empty() ? "" : ": " + n.detail));
            break;
        case change::bounds_moved: {
            base::guard lock(mutex_);
            watch_bounds_anew();
            break;
        }
        case change::switched: report_state(event_kind::switched, n.detail, {}, event_kind::switched); break;
        case change::source_down:
            report_state(event_kind::source_down, n.detail, n.reason, event_kind::source_up);
            break;
        case change::source_up:
            report_state(event_kind::source_up, n.detail, {}, event_kind::source_down);
            break;
        case change::clocks_apart: report(event_kind::clocks_apart, nullptr, n.detail); break;
        case change::evicted:
            if (give_up(n.owner, n.confirm, n.detail.empty() ? "it was evicted by an operator" : n.detail) &&
                n.ended)
                n.ended();
            break;
        case change::restored: report_about(n, event_kind::restored); break;
        case change::overlap: report_about(n, event_kind::overlap); break;
    }
}

}  // namespace holdfast::session
