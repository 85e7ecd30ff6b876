#include "contract/lock_contract.hpp"

namespace holdfast::contract {

// --- fixture ----------------------------------------------------------------------------------------

void lock_contract::SetUp() {
    if (const auto clear = GetParam().store->clear) clear();
    a_ = another_client();
    b_ = another_client();
}

void lock_contract::TearDown() {
    a_.reset();
    b_.reset();
}

config lock_contract::settings() {
    config c;
    c.url = GetParam().store->url();
    c.policies = GetParam().store->policies;
    c.answer_timeout = 10s;  // longer than a busy machine stalls
    return c;
}

any_lock lock_contract::lock_of(client& on, const lock_name& name, lock_options options) const {
    switch (GetParam().of) {
        case kind::native:
            return std::make_shared<mutex>(on, name, mutex_options{options.ttl, options.renew, false});
        case kind::native_fenced:
            return std::make_shared<mutex>(on, name, mutex_options{options.ttl, options.renew, true});
        case kind::recursive:
            return std::make_shared<recursive_mutex>(
                on, name, recursive_options{options.ttl, options.renew, wake::message});
        case kind::recursive_fenced:
            return std::make_shared<fenced_mutex>(on, name, lock_options{options.ttl, options.renew});
        case kind::fair:
            return std::make_shared<fair_mutex>(on, name, lock_options{options.ttl, options.renew});
        case kind::shared_write: break;
        case kind::shared_read:
        case kind::semaphore:
        case kind::permit_semaphore:
        case kind::latch: throw std::logic_error("not a lock");
    }
    return std::make_shared<shared_mutex>(on, name, lock_options{options.ttl, options.renew});
}

lease lock_contract::nested(const any_lock& lock, const lease& outer) const {
    switch (GetParam().of) {
        case kind::recursive: return static_cast<recursive_mutex&>(*lock).acquire(outer);
        case kind::recursive_fenced: return static_cast<fenced_mutex&>(*lock).acquire(outer);
        case kind::fair: return static_cast<fair_mutex&>(*lock).acquire(outer);
        case kind::shared_write: return static_cast<shared_mutex&>(*lock).acquire(outer);
        case kind::native:
        case kind::native_fenced:
        case kind::shared_read:
        case kind::semaphore:
        case kind::permit_semaphore:
        case kind::latch: break;
    }
    throw std::logic_error("a mutex is not recursive");
}

lease lock_contract::briefly(const any_lock& lock, milliseconds ttl) {
    for (;;) {
        std::error_code ec;
        auto held = lock->acquire({.ttl = ttl}, ec);
        if (held || ec != errc::lease_too_short) return held;
    }
}

bool lock_contract::has_waiter(client& waiting) {
    return eventually(patience, [&] { return waiting.stats().attempts.busy >= refusals_of_a_waiter(); });
}

bool lock_contract::takes_any_name() {
    if (!can().shards) return true;
    std::error_code ec;
    (void)lock_of(a(), "}")->try_acquire(ec);
    return ec != errc::invalid_argument;
}

bool lock_contract::queue_has(std::size_t waiters) {
    if (!can().inspection) return waiters == 0;  // a waiter that stayed would be granted the lock next
    return eventually(patience, [&] { return inspect(b(), stock).queue.size() == waiters; });
}

bool lock_contract::names_this_kind(const std::string& layout) {
    return layout == type_name(GetParam().of) ||
           (GetParam().of == kind::fair && layout == type_name(kind::recursive));
}

bool lock_contract::nothing_is_left(const lock_name& name) {
    const auto is_free = [&] {
        if (!can().inspection) return true;
        const auto seen = inspect(b(), name);
        return seen.layout == "free" && seen.holders.empty() && seen.queue.empty();
    };
    const auto leftovers = GetParam().store->leftovers;
    return eventually(patience, [&] { return is_free() && (!leftovers || leftovers().empty()); });
}

// --- instantiations -----------------------------------------------------------------------------------

HOLDFAST_INSTANTIATE_CONTRACT(lock_contract, needs::a_lock);
HOLDFAST_INSTANTIATE_CONTRACT(mutex_contract, needs::a_mutex_with_queue);
HOLDFAST_INSTANTIATE_CONTRACT(queue_contract, needs::a_queue);
HOLDFAST_INSTANTIATE_CONTRACT(local_turns_contract, needs::local_turns);
HOLDFAST_INSTANTIATE_CONTRACT(recursive_contract, needs::a_recursive_lock);
HOLDFAST_INSTANTIATE_CONTRACT(fenced_contract, needs::fences);

}  // namespace holdfast::contract
