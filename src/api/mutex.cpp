#include <holdfast/shared_mutex.hpp>

#include "api/outcome.hpp"
#include "session/client_state.hpp"

namespace holdfast {

using detail::access;
using detail::forever;
using detail::lease_or_no;
using detail::raise;

void exclusive_lock::lock() {
    const auto o = acquire_(forever, nullptr);
    if (const auto* f = std::get_if<session::failed>(&o)) raise(*f);
}

bool exclusive_lock::try_lock() { return try_lock_until_(time_point::min()); }

bool exclusive_lock::try_lock_until_(boot_clock::time_point until) {
    const auto o = acquire_(until, nullptr);
    const auto* f = std::get_if<session::failed>(&o);
    if (f != nullptr && f->why != errc::timed_out) raise(*f);
    return f == nullptr;
}

void exclusive_lock::unlock() noexcept { on().unlock(); }

lease exclusive_lock::nested_(const lease& outer) {
    on().check_usable();
    if (!outer)
        throw error(errc::not_owner, "an empty lease was given for the lock \"" + name().printable() + "\"");
    return lease_or_no(client_lock().reenter(*access::hold_of(outer)));
}

lease exclusive_lock::beside_(const lease& other, const acquire_options& options) {
    on().check_usable();
    if (!other)
        throw error(errc::not_owner, "an empty lease was given for the lock \"" + name().printable() + "\"");
    return lease_or_no(client_lock().acquire_downgraded(*access::hold_of(other), how_(forever, &options)));
}

bool exclusive_lock::held_by_this_thread() const noexcept { return on().held_here().has_value(); }

bool exclusive_lock::valid() const noexcept {
    const auto held = on().held_here();
    return held && held->valid;
}

fence exclusive_lock::held_fence() const noexcept {
    const auto held = on().held_here();
    return held ? held->fence : fence::none;
}

void detail::release_after_work(lease& held, const lock_name& name) {
    if (held.release() == release_outcome::already_lost)
        throw error(errc::lost, "the lock \"" + name.printable() + "\" was lost while the work under it ran");
}

mutex::mutex(client& on, lock_name name, const mutex_options& options)
    : exclusive_lock(on, std::move(name), options.fenced ? kind::native_fenced : kind::native,
                     {options.ttl, options.renew, false, {}, options.replicas}, options.policy) {}

recursive_mutex::recursive_mutex(client& on, lock_name name, const recursive_options& options)
    : exclusive_lock(on, std::move(name), kind::recursive,
                     {options.ttl, options.renew, options.wake == wake::poll, {}, options.replicas},
                     options.policy) {}

fenced_mutex::fenced_mutex(client& on, lock_name name, const lock_options& options)
    : exclusive_lock(on, std::move(name), kind::recursive_fenced,
                     {options.ttl, options.renew, false, {}, options.replicas}, options.policy) {}

fair_mutex::fair_mutex(client& on, lock_name name, const lock_options& options)
    : exclusive_lock(on, std::move(name), kind::fair,
                     {options.ttl, options.renew, false, {}, options.replicas}, options.policy) {}

shared_mutex::shared_mutex(client& on, lock_name name, const lock_options& options)
    : exclusive_lock(on, name, kind::shared_write, {options.ttl, options.renew, false, {}, options.replicas},
                     options.policy),
      readers_(on, std::move(name), options) {}

shared_mutex::reader_side::reader_side(client& on, lock_name name, const lock_options& options)
    : exclusive_lock(on, std::move(name), kind::shared_read,
                     {options.ttl, options.renew, false, {}, options.replicas}, options.policy) {}

}  // namespace holdfast
