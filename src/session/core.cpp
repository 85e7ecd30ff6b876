#include "session/core.hpp"

#include "base/parker.hpp"
#include "engine/resend.hpp"
#include "session/cell.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::session {

namespace {

// What a script renews without holding up the server's other clients, and how many of them are under way.
constexpr std::size_t renewals_at_a_time = 100;
constexpr int renewals_in_flight = 4;

}  // namespace

std::shared_ptr<core> core::open(config settings, const store_opener& opener) {
    std::shared_ptr<core> c(new core(std::move(settings)));
    c->store_ = opener(*c);
    return c;
}

core::core(config s)
    : settings(std::move(s)),
      trust{settings.drift, settings.margin},
      reactor_(std::make_unique<io::reactor>()),
      notifier_(*reactor_, settings.slow_callback,
                [this] {
                    tell(event_kind::slow_callback, nullptr,
                         "a callback runs longer than config::slow_callback; others go on beside it");
                }),
      events_(notifier_),
      timetable_(settings.renew_after) {}

core::~core() {
    if (!closed_.load()) close();
}

void core::close() {
    if (closed_.exchange(true)) return;
    if (forked()) {
        // Locks of the parent's other threads may be held for ever here: leave everything as it is.
        store_->abandon();
        reactor_->abandon();
        notifier_.abandon();
        new std::shared_ptr<core>(shared_from_this());
        return;
    }
    turn_callers_away();
    std::vector<std::shared_ptr<tenancy>> open;
    {
        base::guard lock(mutex_);
        for (const auto& [id, t] : leases_) open.push_back(t);
    }
    for (const auto& t : open) {
        undo(t->key, t->owner, t->lease(), false);
        lose(t, "the client was closed");
    }
    backend::parker me;
    const auto enough = boot_clock::now() + settings.close_timeout;
    for (;;) {
        {
            base::guard lock(mutex_);
            if (errands_ == 0 && !(store_ && store_->has_errands())) break;  // none: it could not be opened
        }
        const auto now = boot_clock::now();
        if (now >= enough) break;
        me.park_until(std::min(enough, now + milliseconds{1}));
    }
    notifier_.stop();
    // What is posted or timed and still to come leaves the store alone; what is running now is waited for.
    store_gone_.store(true);
    reactor_->run_and_wait([] {});
    store_.reset();
    reactor_.reset();
}

void core::turn_callers_away() {
    std::vector<std::shared_ptr<cell>> open;
    {
        base::guard lock(mutex_);
        for (const auto& [key, known] : cells_) {
            if (auto c = known.lock()) open.push_back(std::move(c));
        }
    }
    for (const auto& c : open) c->turn_away();
    backend::parker me;
    while (calls_.load() > 0) me.park_until(boot_clock::now() + milliseconds{1});
}

bool core::usable() const noexcept { return !closed_.load() && !forked(); }

void core::check_usable() const {
    if (forked()) {
        throw error(errc::forked, "this client was made before fork(); make a new one in the child process");
    }
    if (closed_.load(std::memory_order_relaxed)) throw error(errc::closed, "the client was destroyed");
}

std::optional<backend::failure> core::objection_to(const lock_name& name) const {
    const auto kept = store_->kept_under(name);
    if (kept.empty()) return std::nullopt;
    return backend::failure{errc::invalid_argument,
                            "no lock may be called \"" + name.printable() + "\", it is " + std::string{kept}};
}

std::shared_ptr<cell> core::cell_of(const backend::lock_key& key) {
    base::guard lock(mutex_);
    auto& known = cells_[key];
    auto c = known.lock();
    if (!c) known = c = std::make_shared<cell>(shared_from_this(), key);
    if (++cell_lookups_ % 1024 == 0)
        std::erase_if(cells_, [](const auto& entry) { return entry.second.expired(); });
    return c;
}

// --- leases ---------------------------------------------------------------------------------------

void core::began(const std::shared_ptr<tenancy>& t, boot_clock::duration waited) {
    counts.acquired.add();
    counts.held.add();
    counts.wait.add(waited);
    {
        base::guard lock(mutex_);
        begin_renewal(t);
    }
    if (events_.anybody()) tell(event_kind::acquired, &t->key.name, {}, {}, t->token);
}

void core::begin_renewal(const std::shared_ptr<tenancy>& t) {
    t->id = next_id_++;
    leases_.emplace(t->id, t);
    timetable_.add(t->id, t->deadline(), t->lease(), t->renewed(), t->since);
    arm();
}

void core::passed_on(const tenancy& t, const std::shared_ptr<tenancy>& next, boot_clock::duration waited) {
    counts.released.add();
    counts.hold.add(next->since - t.since);
    counts.acquired.add();
    counts.wait.add(waited);
    {
        base::guard lock(mutex_);
        timetable_.remove(t.id);
        leases_.erase(t.id);
        begin_renewal(next);
    }
    if (!events_.anybody()) return;
    tell(event_kind::released, &t.key.name, {}, {}, t.token);
    tell(event_kind::acquired, &next->key.name, {}, {}, next->token);
}

void core::ended(const tenancy& t, time_point now) {
    counts.held.subtract();
    counts.hold.add(now - t.since);
    base::guard lock(mutex_);
    timetable_.remove(t.id);
    leases_.erase(t.id);
}

void core::renew_now(const std::shared_ptr<tenancy>& t, std::uint32_t holds) {
    reactor_->post([this, t, holds] {
        if (!has_store()) return;
        const auto sent = boot_clock::now();
        const backend::renew_request r{t->key, t->owner, t->lease(), holds, t->replicas};
        store_->renew({&r, 1}, sent + settings.answer_timeout, [this, t, sent](const auto& answers) {
            if (answers.size() == 1) on_renewed(t, answers[0], sent);
        });
    });
}

void core::keep_renewed(const std::shared_ptr<tenancy>& t, milliseconds lease) {
    t->keep_renewed(lease);
    base::guard lock(mutex_);
    if (!leases_.contains(t->id)) return;  // lost meanwhile
    timetable_.add(t->id, t->deadline(), t->lease(), true, boot_clock::now());
    arm();
}

void core::renew_once_more(const std::shared_ptr<tenancy>& t) {
    t->renew_no_more();
    {
        base::guard lock(mutex_);
        if (!leases_.contains(t->id)) return;
        timetable_.add(t->id, t->deadline(), t->lease(), false, boot_clock::now());
        arm();
    }
    renew_now(t, 0);
}

void core::arm() {
    const auto next = timetable_.next();
    if (next >= armed_for_) return;
    reactor_->cancel(timer_);
    armed_for_ = next;
    timer_ = reactor_->at(next, [this] { tick(); });
}

void core::tick() {
    std::vector<std::shared_ptr<tenancy>> due;
    std::vector<std::shared_ptr<tenancy>> late;
    std::vector<std::shared_ptr<tenancy>> over;
    std::vector<std::shared_ptr<tenancy>> gone;
    {
        base::guard lock(mutex_);
        const auto work = timetable_.due(boot_clock::now());
        const auto find = [&](engine::lease_id id) REQUIRES(mutex_) { return leases_.at(id); };
        for (const auto id : work.lost) over.push_back(find(id));
        for (const auto id : work.overdue) late.push_back(find(id));
        for (const auto id : work.renew) {
            auto t = find(id);
            if (t->thread == nullptr || t->thread->alive.load(std::memory_order_acquire)) {
                due.push_back(std::move(t));
            } else {
                // Its unlock() can never come. It is not renewed, and so it ends.
                timetable_.add(id, t->deadline(), t->lease(), false, boot_clock::now());
                gone.push_back(std::move(t));
            }
        }
        armed_for_ = time_point::max();
        arm();
    }
    for (const auto& t : over) lose(t, "it could not be renewed in time, or was not to be renewed");
    for (const auto& t : gone) {
        tell(event_kind::holder_gone, &t->key.name,
             "the thread that locked it has ended; it is not renewed any more");
    }
    for (const auto& t : late) on_renewed(t, backend::renew_answer::unknown, {});
    if (!due.empty()) renew(std::move(due));
}

// Leases that are due together, asked for a script's worth at a time: the server's other clients get their
// turn in between.
struct core::renewal_round {
    std::vector<std::shared_ptr<tenancy>> due;
    std::size_t sent = 0;
};

void core::renew(std::vector<std::shared_ptr<tenancy>> due) {
    if (!has_store()) return;
    // What is in one place must not wait for the answers of another, which may be out of reach.
    std::map<std::uint32_t, std::shared_ptr<renewal_round>> rounds;
    for (auto& t : due) {
        auto& round = rounds[store_->place_of(t->key)];
        if (!round) round = std::make_shared<renewal_round>();
        round->due.push_back(std::move(t));
    }
    for (const auto& [place, round] : rounds) {
        for (int i = 0; i < renewals_in_flight; ++i) renew_some(round);
    }
}

void core::renew_some(const std::shared_ptr<renewal_round>& all) {
    if (!has_store() || all->sent == all->due.size()) return;
    const auto from = all->sent;
    const auto to = std::min(from + renewals_at_a_time, all->due.size());
    all->sent = to;
    std::vector<backend::renew_request> requests;
    requests.reserve(to - from);
    for (auto i = from; i < to; ++i) {
        const auto& t = all->due[i];
        requests.push_back({t->key, t->owner, t->lease(), 0, t->replicas});
    }
    const auto now = boot_clock::now();
    store_->renew(requests, now + settings.answer_timeout, [this, all, from, to, now](const auto& answers) {
        for (std::size_t i = 0; i < std::min(answers.size(), to - from); ++i)
            on_renewed(all->due[from + i], answers[i], now);
        if (all->due.size() > renewals_in_flight * renewals_at_a_time)
            reactor_->post([this, all] { renew_some(all); });
    });
}

void core::on_renewed(const std::shared_ptr<tenancy>& t, backend::renew_answer answer, time_point sent) {
    if (t->state() == lease_state::released) return;  // "not held" is what our own release leaves behind
    const auto now = boot_clock::now();
    switch (answer) {
        case backend::renew_answer::renewed: {
            counts.renewals.add();
            if (!t->extend(trust.deadline(sent, t->lease()), now)) return;
            if (t->move_to(lease_state::held)) {
                tell(event_kind::renewed, &t->key.name, "renewal works again", {}, t->token);
            }
            base::guard lock(mutex_);
            timetable_.renewed(t->id, t->deadline(), now);
            arm();
            return;
        }
        case backend::renew_answer::lost:
            counts.renewals_failed.add();
            return lose(t, "the store says that it is not held any more");
        case backend::renew_answer::unknown: {
            counts.renewals_failed.add();
            // One that was sent later has been answered: all is well.
            if (sent != time_point{} && trust.deadline(sent, t->lease()) <= t->deadline()) return;
            if (t->move_to(lease_state::jeopardy)) {
                tell(event_kind::jeopardy, &t->key.name, "it cannot be renewed just now; time is left",
                     errc::unavailable, t->token);
            }
            // An answer says when to try again; silence (`sent` is empty) was planned for by the timetable.
            if (sent == time_point{}) return;
            base::guard lock(mutex_);
            timetable_.not_answered(t->id, now);
            arm();
            return;
        }
    }
}

void core::lose(const std::shared_ptr<tenancy>& t, const std::string& why) {
    if (!t->move_to(lease_state::lost)) return;
    counts.lost.add();
    ended(*t, boot_clock::now());
    t->watch.reset();
    // First the way for others is free, then it is told: who hears of the loss may try at once.
    if (const auto c = t->home.lock()) c->on_lost(t);
    notifier_.post([t] { t->tell_lost(); });
    tell(event_kind::lost, &t->key.name, why, errc::lost, t->token);
}

time_point core::send_by(time_point now, time_point until) const {
    const auto left = std::max<boot_clock::duration>(until - now, milliseconds{0});
    return until - std::min<boot_clock::duration>(left, settings.answer_timeout) / 8;
}

void core::begin_errand() {
    base::guard lock(mutex_);
    ++errands_;
}

void core::end_errand() {
    base::guard lock(mutex_);
    --errands_;
}

void core::undo(const backend::lock_key& key, const owner_id& owner, milliseconds lease, bool insist) {
    plan_undo(key, owner, lease, insist)();
}

std::function<void()> core::plan_undo(const backend::lock_key& key, const owner_id& owner, milliseconds lease,
                                      bool insist) {
    begin_errand();
    return [self = shared_from_this(), r = backend::release_request{key, owner, true}, lease, insist] {
        self->reactor_->post([core = self.get(), r, lease, insist] { core->send_undo(r, lease, insist, 0); });
    };
}

void core::send_undo(const backend::release_request& r, milliseconds lease, bool insist, unsigned round) {
    if (!has_store()) return;
    store_->release(
        r, boot_clock::now() + settings.answer_timeout, [=, this](const backend::release_answer& a) {
            const bool answered =
                std::holds_alternative<backend::released>(a) || std::holds_alternative<backend::not_held>(a);
            if (round == 0) end_errand();
            const auto pause = engine::pause_before_undo(round + 1, lease);
            if ((answered && !insist) || !pause || closed_.load()) return;
            reactor_->at(engine::later(boot_clock::now(), *pause),
                         [=, this] { send_undo(r, lease, insist, round + 1); });
        });
}

// --- events ---------------------------------------------------------------------------------------

void core::tell(event_kind kind, const lock_name* lock, std::string detail, std::error_code reason,
                fence token) {
    if (!events_.anybody()) return;
    event e{kind,
            lock != nullptr ? lock->printable() : std::string{},
            std::move(detail),
            reason,
            token,
            boot_clock::now()};
    if (!events_.emit(std::move(e))) counts.events_dropped.add();
}

void core::stands(event_kind kind, const std::string& detail, std::error_code reason, event_kind no_more) {
    // Until it is told too: who begins to listen meanwhile would hear it neither as old nor as new.
    base::guard lock(mutex_);
    standing_.erase(no_more);
    standing_.insert_or_assign(kind, event{kind, {}, detail, reason, fence::none, boot_clock::now()});
    tell(kind, nullptr, detail, reason);
}

void core::forget(event_kind kind) {
    base::guard lock(mutex_);
    standing_.erase(kind);
}

event_subscription core::listen(std::function<void(const event&)> tell) {
    base::guard lock(mutex_);
    std::vector<event> so_far;
    for (const auto& [kind, e] : standing_) so_far.push_back(e);
    return events_.listen(std::move(tell), std::move(so_far));
}

void core::on_notice(const backend::notice& n) {
    using change = backend::notice::change;
    switch (n.what) {
        case change::link_up: {
            stands(event_kind::store_up, n.detail, {}, event_kind::store_down);
            base::guard lock(mutex_);
            timetable_.hurry(boot_clock::now());
            arm();
            break;
        }
        case change::link_down:
            stands(event_kind::store_down, n.detail, errc::unavailable, event_kind::store_up);
            break;
        case change::restarted: tell(event_kind::store_restarted, nullptr, n.detail); break;
        case change::failed_over: tell(event_kind::failed_over, nullptr, n.detail); break;
        case change::eviction_risk:
            stands(event_kind::eviction_risk, n.detail, {}, event_kind::eviction_risk);
            break;
        case change::no_channel_right:
            stands(event_kind::no_channel_right, n.detail, errc::no_permission, event_kind::no_channel_right);
            break;
        case change::quorum_weak:
            stands(event_kind::quorum_weak, n.detail, {}, event_kind::quorum_whole);
            break;
        case change::quorum_whole:
            forget(event_kind::quorum_double);
            stands(event_kind::quorum_whole, n.detail, {}, event_kind::quorum_weak);
            break;
        case change::quorum_double:
            stands(event_kind::quorum_double, n.detail, {}, event_kind::quorum_double);
            break;
        case change::quorum_even:
            stands(event_kind::quorum_even, n.detail, {}, event_kind::quorum_even);
            break;
        case change::evicted: {
            std::shared_ptr<tenancy> evicted;
            {
                base::guard lock(mutex_);
                for (const auto& [id, t] : leases_) {
                    if (t->owner == n.owner) evicted = t;
                }
            }
            if (evicted) lose(evicted, "it was evicted " + n.detail);
            break;
        }
    }
}

}  // namespace holdfast::session
