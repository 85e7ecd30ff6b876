#include "session/group_acquire.hpp"

#include "base/random.hpp"
#include "session/client_state.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::session {

namespace {

using outcome = lockable::outcome;

engine::all_settings settings_of(const group& of, const acquisition& how) {
    engine::all_settings made;
    made.members = of.members().size();
    made.give_up_at = how.give_up_at;
    // Half as long to one and a half times.
    made.patience = std::chrono::duration_cast<boot_clock::duration>(of.patience() * (0.5 + base::jitter()));
    return made;
}

// The options of the lock object, overridden by those of the call.
acquisition together(const acquisition& lock, const acquisition& call, bool has_permits) {
    acquisition made = lock;
    if (call.ttl) {
        made.ttl = call.ttl;
        made.renew.reset();
    }
    if (call.renew) made.renew = call.renew;
    made.at_least = std::max(made.at_least, call.at_least);
    made.by_thread = call.by_thread;
    made.stop = call.stop;
    made.permits = has_permits ? call.permits : 1;
    return made;
}

}  // namespace

group_acquire::group_acquire(std::shared_ptr<const group> of, acquisition how)
    : of_(std::move(of)), wanted_(std::move(how)), machine_(settings_of(*of_, wanted_)) {}

group_acquire::member_request group_acquire::request_for(const engine::acquire_member& next) {
    const auto& member = of_->members()[next.which];
    auto how = together(member.how, wanted_, engine::rules_of(member.of->key().of).most_permits > 1);
    how.give_up_at = next.give_up_at;
    const bool in_hand = next.which > 0 && next.give_up_at;
    if (in_hand) keep_while_waiting();
    return {*member.of, std::move(how), in_hand};
}

engine::all_action group_acquire::on_outcome(outcome answer) {
    if (auto* const got = std::get_if<std::shared_ptr<hold>>(&answer)) {
        holds_.push_back(std::move(*got));
        ++held_;
        return machine_.on_held(std::ranges::all_of(leases(), [](const auto& t) { return t->valid(); }));
    }
    why_ = std::move(std::get<failed>(answer));
    return why_.why == errc::timed_out ? machine_.on_busy(boot_clock::now()) : machine_.on_failed();
}

std::vector<std::shared_ptr<held_lease>> group_acquire::leases() const {
    std::vector<std::shared_ptr<held_lease>> all;
    for (std::size_t i = 0; i < held_; ++i) {
        if (const auto t = holds_[i] ? static_cast<const hold_of_one&>(*holds_[i]).of
                                     : of_->members()[i].of->own_lease())
            all.push_back(t);
    }
    return all;
}

// A ttl counts from the moment when all are held. Until then the first lease must not end while we wait for
// the last.
void group_acquire::keep_while_waiting() {
    for (const auto& t : leases()) {
        if (t->renewed()) continue;
        t->home.lock()->client().keep_renewed(t, t->lease());
        kept_.push_back(t);
    }
}

void group_acquire::release_all() {
    for (std::size_t i = held_; i-- > 0;) {
        if (holds_[i])
            holds_[i]->release();
        else
            of_->members()[i].of->unlock();
    }
    forget();
}

void group_acquire::release_all_later(callback<void()> done) {
    const auto given = std::exchange(holds_, {});
    if (given.empty()) {
        forget();
        return done();
    }
    // `done` keeps this object alive.
    hold_of_all(given).release_later([this, done = std::move(done)](const release_result&) {
        forget();
        done();
    });
}

void group_acquire::forget() {
    holds_.clear();
    held_ = 0;
    stop_keeping();
}

// A lost lease reports itself; an outer hold may still have a released one.
void group_acquire::stop_keeping() {
    const auto kept = std::exchange(kept_, {});
    for (const auto& t : kept) {
        if (t->valid()) t->home.lock()->client().renew_once_more(t);
    }
}

outcome group_acquire::end(const engine::hold_all&) {
    stop_keeping();
    if (wanted_.by_thread) return std::shared_ptr<hold>{};
    return std::make_shared<hold_of_all>(std::move(holds_));
}

outcome group_acquire::end(const engine::end_without& how) {
    using reason = engine::end_without::reason;
    if (how.why == reason::busy) return failed{errc::timed_out, {}, {}, {}};
    const auto& members = of_->members();
    failed no = std::move(why_);
    if (how.why == reason::too_short)
        no = {errc::lease_too_short, "a lease expired before all locks were acquired", {}, {}};
    no.sentence =
        "the locks \"" + of_->name().printable() + "\" could not be acquired together: " + no.sentence;
    std::vector<member_outcome> each(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
        auto& one = each[members[i].given_at];
        one.name = members[i].of->name();
        one.what = i < how.which    ? member_outcome::released
                   : i == how.which ? member_outcome::not_acquired
                                    : member_outcome::not_asked;
        if (i == how.which) one.why = no.why;
    }
    no.members = std::make_shared<const std::vector<member_outcome>>(std::move(each));
    return no;
}

}  // namespace holdfast::session
