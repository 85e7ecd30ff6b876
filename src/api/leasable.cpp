#include <holdfast/leasable.hpp>

#include "api/access.hpp"
#include "api/outcome.hpp"
#include "api/policies.hpp"
#include "session/client_state.hpp"

#include <holdfast/client.hpp>

namespace holdfast {

using detail::forever;
using detail::lease_or_no;
using detail::raise;

void leasable::check(const choices& chosen) {
    if (chosen.ttl && *chosen.ttl <= std::chrono::milliseconds::zero())
        throw error(errc::invalid_argument, "a ttl must be 1 ms or more");
    if (chosen.replicas.at_least > 0 && chosen.replicas.within < std::chrono::milliseconds{1})
        throw error(errc::invalid_argument, "replication::within must be 1 ms or more");
}

leasable::leasable(client& on, lock_name name, kind of, choices chosen, const std::string& policy)
    : chosen_(chosen) {
    const auto& state = detail::access::state_of(on);
    state->check_usable();
    check(chosen_);
    const auto& policies = state->settings.policies;
    const auto* const found = policy.empty() ? detail::policy_matching(policies, name.str())
                                             : &detail::policy_named(policies, policy);
    on_ = state->lock_of({of, std::move(name)}, found != nullptr ? found->name : std::string{});
}

leasable::leasable(std::shared_ptr<session::lockable> on, choices chosen)
    : on_(std::move(on)), chosen_(chosen) {
    check(chosen_);
}

leasable::~leasable() = default;

// Called only for objects that were made with a client_lock.
session::client_lock& leasable::client_lock() const noexcept {
    return static_cast<session::client_lock&>(*on_);
}

const lock_name& leasable::name() const noexcept { return on_->name(); }

// The settings of a call: its own options first, then those of the lock.
session::acquisition leasable::how_(std::optional<time_point> give_up_at,
                                    const acquire_options* options) const {
    session::acquisition how;
    how.give_up_at = give_up_at;
    how.poll = chosen_.poll;
    how.ttl = chosen_.ttl;
    how.renew = chosen_.renew;
    how.total = chosen_.total;
    how.replicas = chosen_.replicas;
    how.by_thread = options == nullptr;
    if (options == nullptr) return how;
    if (options->ttl) {
        how.ttl = options->ttl;
        how.renew.reset();
    }
    if (options->renew) how.renew = options->renew;
    how.stop = options->stop;
    how.permits = options->permits;
    how.at_least = options->at_least;
    return how;
}

leasable::outcome leasable::acquire_(std::optional<time_point> give_up_at, const acquire_options* options) {
    on_->check_usable();
    if (give_up_at == time_point::min()) give_up_at.reset();  // a wait of zero is one attempt
    return {on_->acquire(how_(give_up_at, options))};
}

lease leasable::acquire(const acquire_options& options) {
    auto o = acquire_(forever, &options);
    if (const auto* f = std::get_if<session::failed>(&o)) raise(*f);
    return lease_or_no(std::move(o));
}

lease leasable::acquire(const acquire_options& options, std::error_code& ec) {
    return try_acquire_until_(forever, options, ec);
}

lease leasable::try_acquire(const acquire_options& options) {
    return try_acquire_until_(time_point::min(), options);
}

lease leasable::try_acquire(const acquire_options& options, std::error_code& ec) {
    return try_acquire_until_(time_point::min(), options, ec);
}

lease leasable::try_acquire_until_(time_point until, const acquire_options& options) {
    return lease_or_no(acquire_(until, &options));
}

lease leasable::try_acquire_until_(time_point until, const acquire_options& options, std::error_code& ec) {
    ec.clear();
    try {
        auto o = acquire_(until, &options);
        const auto* f = std::get_if<session::failed>(&o);
        if (f == nullptr) return lease_or_no(std::move(o));
        if (f->why != errc::timed_out) ec = f->why;
    } catch (const error& e) {  // a client that was closed, perhaps just now
        ec = e.code();
    }
    return {};
}

}  // namespace holdfast
