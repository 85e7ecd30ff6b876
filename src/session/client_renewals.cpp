// The renewals of a client: when they are due, what they ask of the store, and what the answers mean.
#include "session/blocking_call.hpp"
#include "session/client_state.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::session {

namespace {

constexpr int renewals_in_flight = 4;  // calls of store::renew

// A renewal for this time only asks: it does not extend a lease that is to expire.
constexpr milliseconds lengthens_nothing{1};

// After hand-offs, all threads of a lease share one owner in the store, whose answer concerns the last of
// them. Call this under the client's mutex.
std::shared_ptr<held_lease> last_successor(std::shared_ptr<held_lease> t) {
    while (t->successor) t = t->successor;
    return t;
}

}  // namespace

void client_state::renew_now(const std::shared_ptr<held_lease>& t, std::uint32_t holds,
                             milliseconds at_least) {
    reactor_->post([this, t, holds, at_least] {
        if (!has_store()) return;
        send_renewals({&t, 1}, {std::max(t->lease(), at_least), holds},
                      boot_clock::now() + settings.answer_timeout, {});
    });
}

void client_state::show_holds(const std::shared_ptr<held_lease>& t, std::uint32_t holds) noexcept try {
    renew_now(t, holds);
} catch (const std::bad_alloc&) {
}

void client_state::confirm(const std::shared_ptr<held_lease>& t, time_point until,
                           std::function<void(bool)> still_held) {
    send_renewals({&t, 1}, {}, until, [done = std::move(still_held)](const renew_answers& answers) {
        done(answers.size() == 1 && std::holds_alternative<backend::renewed>(answers[0]));
    });
}

void client_state::ask_whether_held(const std::shared_ptr<held_lease>& t) {
    std::shared_ptr<held_lease> holder;
    {
        base::guard lock(mutex_);
        holder = last_successor(t);
        if (!leases_.contains(holder->id)) return;  // released: the message may be of our own release
        if (!t->store.taken_by_force(t->key.of)) return;
        const bool under_way = holder->asked != held_lease::question::none;
        holder->asked = under_way ? held_lease::question::once_more : held_lease::question::once;
        if (under_way) return;
    }
    reactor_->post([this, holder] { send_question(holder); });
}

void client_state::send_question(const std::shared_ptr<held_lease>& t) {
    if (!has_store()) return;
    renewal_terms how;
    if (!t->renewed()) how.lease = lengthens_nothing;
    send_renewals({&t, 1}, how, boot_clock::now() + settings.answer_timeout, [this, t](const renew_answers&) {
        const bool again = [&] {
            base::guard lock(mutex_);
            return std::exchange(t->asked, held_lease::question::none) == held_lease::question::once_more;
        }();
        if (again) ask_whether_held(t);  // or whether its successor is
    });
}

void client_state::look_for_losses(const lock_name& name) {
    const call here(*this);
    std::vector<std::shared_ptr<held_lease>> ours;
    {
        base::guard lock(mutex_);
        for (const auto& [id, t] : leases_) {
            if (t->key.name == name) ours.push_back(t);
        }
    }
    if (!usable()) return;
    const auto until = boot_clock::now() + settings.answer_timeout;
    while (!ours.empty()) {  // those of one store together
        const auto others = std::partition(
            ours.begin(), ours.end(), [in = &ours.back()->store](const auto& t) { return &t->store != in; });
        const std::vector<std::shared_ptr<held_lease>> asked(others, ours.end());
        ours.erase(others, ours.end());
        (void)blocking_call<bool>(*this, until, [&](auto handler) {
            send_renewals(asked, {.lease = lengthens_nothing}, until,
                          [handler](const renew_answers&) { handler(true); });
        });
    }
}

void client_state::keep_renewed(const std::shared_ptr<held_lease>& t, milliseconds lease) {
    t->keep_renewed(lease);
    base::guard lock(mutex_);
    if (!leases_.contains(t->id)) return;  // lost meanwhile
    timetable_.add(t->id, t->own_deadline(), t->lease(), true, boot_clock::now());
    arm();
}

void client_state::let_expire(const std::shared_ptr<held_lease>& t) {
    t->renew_no_more();
    base::guard lock(mutex_);
    if (!leases_.contains(t->id)) return;
    timetable_.add(t->id, t->own_deadline(), t->lease(), false, boot_clock::now());
    arm();
}

void client_state::renew_once_more(const std::shared_ptr<held_lease>& t) {
    let_expire(t);
    renew_now(t, 0);
}

void client_state::arm() {
    const auto next = timetable_.next();
    if (next >= armed_for_) return;
    reactor_->cancel(timer_);
    armed_for_ = next;
    timer_ = reactor_->at(next, [this] { tick(); });
}

void client_state::tick() {
    std::vector<std::shared_ptr<held_lease>> due;
    std::vector<std::shared_ptr<held_lease>> late;
    std::vector<std::shared_ptr<held_lease>> over;
    std::vector<std::shared_ptr<held_lease>> gone;
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
                // Its unlock() can never come. Stop renewing it, so that it expires.
                timetable_.add(id, t->own_deadline(), t->lease(), false, boot_clock::now());
                gone.push_back(std::move(t));
            }
        }
        armed_for_ = time_point::max();
        arm();
    }
    for (const auto& t : over) end_in_time(t, observe::loss::expired, why_over(*t));
    for (const auto& t : gone) {
        report(event_kind::holder_gone, &t->key.name,
               "the thread that locked it has ended; its lease is no longer renewed");
    }
    for (const auto& t : late) {
        counts.renewals_failed.add();
        endanger(t, {});
    }
    if (!due.empty()) renew(std::move(due));
}

// --- what ends leases together ----------------------------------------------------------------------

// A bound moves without notice, and many leases share it. So a timer checks the bound when it was due to
// pass.
void client_state::watch_bound(const std::shared_ptr<const backend::bound>& b) {
    const auto until = b->until();
    auto& timer = bounds_[b];
    // One that was ended while the grant was on its way has a timer for a later time.
    if (timer.serial != 0 && until > boot_clock::now()) return;
    if (timer.serial != 0) reactor_->cancel(timer);
    timer = reactor_->at(until, [this, b] { look_at_bound(b); });
}

void client_state::watch_bounds_anew() {
    for (auto& [b, timer] : bounds_) {
        if (timer.serial != 0) reactor_->cancel(timer);
        timer = reactor_->at(b->until(), [this, b = b] { look_at_bound(b); });
    }
}

void client_state::look_at_bound(const std::shared_ptr<const backend::bound>& b) {
    if (!has_store()) return;
    std::vector<std::shared_ptr<held_lease>> over;
    {
        base::guard lock(mutex_);
        bounds_.erase(b);
        const bool reached = b->until() <= boot_clock::now();
        bool in_use = false;
        for (const auto& [id, t] : leases_) {
            if (t->bound != b) continue;
            in_use = true;
            if (reached) over.push_back(t);
        }
        if (in_use && !reached) watch_bound(b);
    }
    for (const auto& t : over)
        end_in_time(t, observe::loss::session,
                    "the store did not confirm in time that the lock is still held");
}

void client_state::lose_all(const std::string& why) {
    std::vector<std::shared_ptr<held_lease>> all;
    {
        base::guard lock(mutex_);
        for (const auto& [id, t] : leases_) all.push_back(t);
    }
    ++sessions_lost_;
    for (const auto& t : all) (void)lose(t, observe::loss::session, why);
}

void client_state::end_in_time(const std::shared_ptr<held_lease>& t, observe::loss as,
                               const std::string& why) {
    // The store of a policy may still have a part of the lock, and so has one that bounds its leases.
    const auto& has = t->store.has();
    const bool ends_by_itself = has.ends == backend::lease_end::by_time && !has.in_two_places && !t->bound;
    if (lose(t, as, why) && !ends_by_itself) undo(*t, t->stray);
}

// Leases that are due together, renewed in batches of one script each: the server's other clients get their
// turn in between.
struct client_state::renewal_round {
    std::vector<std::shared_ptr<held_lease>> due;
    std::size_t sent = 0;
};

void client_state::renew(std::vector<std::shared_ptr<held_lease>> due) {
    if (!has_store()) return;
    // Leases in one place must not wait for the answers of another place, which may be out of reach.
    std::map<std::pair<backend::store*, std::uint32_t>, std::shared_ptr<renewal_round>> rounds;
    for (auto& t : due) {
        auto& round = rounds[{&t->store, t->store.shard_of(t->key)}];
        if (!round) round = std::make_shared<renewal_round>();
        round->due.push_back(std::move(t));
    }
    for (const auto& [place, round] : rounds) {
        for (int i = 0; i < renewals_in_flight; ++i) renew_some(round);
    }
}

void client_state::renew_some(const std::shared_ptr<renewal_round>& all) {
    if (!has_store() || all->sent == all->due.size()) return;
    const std::size_t at_a_time = std::max(1U, all->due.front()->store.has().renewals_at_a_time);
    const auto from = all->sent;
    const auto to = std::min(from + at_a_time, all->due.size());
    all->sent = to;
    send_renewals({all->due.data() + from, to - from}, {}, boot_clock::now() + settings.answer_timeout,
                  [this, all, at_a_time](const renew_answers&) {
                      if (all->due.size() > renewals_in_flight * at_a_time)
                          reactor_->post([this, all] { renew_some(all); });
                  });
}

// Built when it is sent, from what is wanted then, and passed to the handler of its answer. Meanwhile the
// client may want another lease, and another thread may hold the lock.
struct client_state::sent_renewal {
    std::shared_ptr<held_lease> of;
    engine::lease_request asked;
    std::uint32_t holds;

    [[nodiscard]] backend::renew_request to_store() const {
        return {of->key, of->owner, asked.lease(), holds, of->replicas};
    }
};

void client_state::send_renewals(std::span<const std::shared_ptr<held_lease>> of, renewal_terms how,
                                 time_point until, std::function<void(const renew_answers&)> answered) {
    const auto now = boot_clock::now();
    std::vector<sent_renewal> sent;
    std::vector<backend::renew_request> requests;
    sent.reserve(of.size());
    requests.reserve(of.size());
    {
        base::guard lock(mutex_);
        for (const auto& t : of) {
            const auto holder = last_successor(t);
            if (!holder->valid()) continue;
            sent.push_back({holder, {now, how.lease.value_or(holder->lease())}, how.holds});
            requests.push_back(sent.back().to_store());
            holder->expiry.sent(sent.back().asked);
        }
    }
    auto take = [this, sent = std::move(sent), answered = std::move(answered)](const renew_answers& answers) {
        for (std::size_t i = 0; i < std::min(answers.size(), sent.size()); ++i)
            on_renewed(sent[i], answers[i]);
        if (answered) answered(answers);
    };
    if (requests.empty()) return take({});
    of.front()->store.renew(requests, until, std::move(take));
}

void client_state::on_renewed(const sent_renewal& sent, const backend::renew_answer& answer) {
    const auto now = boot_clock::now();
    const auto* const yes = std::get_if<backend::renewed>(&answer);
    const bool not_held = std::holds_alternative<backend::not_held>(answer);
    const auto t = [&] {
        base::guard lock(mutex_);
        auto holder = last_successor(sent.of);
        if (std::holds_alternative<backend::unknown>(answer))
            holder->expiry.not_answered(sent.asked, clock_margin_, settings.answer_timeout);
        else
            holder->expiry.carried_out(sent.asked, clock_margin_, now);
        if (not_held) holder->not_held = true;
        return holder;
    }();
    if (t->state() == lease_state::released) return;  // "not held" is the effect of our own release
    if (yes != nullptr) {
        counts.renewals.add();
        {
            // Under one lock: a tick in between would end, by the timetable, the lease that was just renewed.
            base::guard lock(mutex_);
            const auto worked = sent.asked.for_at_most(yes->lease);
            if (!t->extend(worked, clock_margin_, boot_clock::now())) return;
            t->refusal.reset();
            const bool is_newest = sent.asked.sent() >= t->renewed_by;
            if (is_newest) {
                // A question lengthens nothing, and is not due.
                if (sent.asked.lease() > lengthens_nothing)
                    t->counts->used_at_renewal.add(sent.asked.sent() - t->counted_from(), t->lease());
                t->renewed_by = sent.asked.sent();
            }
            if (yes->lease < sent.asked.lease()) {
                if (is_newest) t->shorten(worked.deadline(clock_margin_));
                timetable_.gives_less(t->id, yes->lease, t->own_deadline());
            }
            timetable_.renewed(t->id, t->own_deadline(), now);
            arm();
        }
        if (t->move_to(lease_state::held))
            report(event_kind::renewed, &t->key.name, "renewal works again", {}, t->fence);
        return;
    }
    counts.renewals_failed.add();
    if (not_held) {
        (void)lose(t, observe::loss::not_owner, "the store reports that the lock is no longer held");
        return;
    }
    if (is_out_of_date(*t, sent)) return;
    const auto* const refusal = std::get_if<backend::refused>(&answer);
    endanger(t, refusal != nullptr ? refusal->why() : std::get<backend::unknown>(answer));
    base::guard lock(mutex_);
    timetable_.not_answered(t->id, now);
    arm();
}

// Another renewal worked that was sent later, or that lasts longer: all is well.
bool client_state::is_out_of_date(const held_lease& t, const sent_renewal& failed) {
    base::guard lock(mutex_);
    return failed.asked.sent() < t.renewed_by || failed.asked.deadline(clock_margin_) <= t.own_deadline();
}

// Reports again when the store begins to refuse what it did not answer before: an operator can fix that.
void client_state::endanger(const std::shared_ptr<held_lease>& t, const backend::failure& why) {
    const bool new_reason = [&] {
        if (why.server_text.empty()) return false;
        base::guard lock(mutex_);
        const bool differs = !t->refusal || t->refusal->code != why.code;
        t->refusal = why;
        return differs;
    }();
    const bool begins = t->move_to(lease_state::jeopardy);
    if (!begins && !(new_reason && t->state() == lease_state::jeopardy)) return;
    if (!why.server_text.empty())
        report(event_kind::jeopardy, &t->key.name,
               "the server refuses to renew the lease (" + why.in_one() + "); time is left", why.code,
               t->fence);
    else
        report(event_kind::jeopardy, &t->key.name, "the lease cannot be renewed now; time is left",
               errc::unavailable, t->fence);
}

std::string client_state::why_over(const held_lease& t) {
    base::guard lock(mutex_);
    if (t.refusal)
        return "the lease was not renewed in time: the last answer was a refusal (" + t.refusal->in_one() +
               ")";
    return "the lease expired: it could not be renewed in time, or was not to be renewed";
}

}  // namespace holdfast::session
