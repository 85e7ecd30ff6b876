// Releases what requests may have left behind on a member.
#include "backends/redlock/members.hpp"
#include "engine/retry_policy.hpp"

#include <utility>

namespace holdfast::redlock_backend {

using namespace backend;

// The destructor of the client waits for a cleanup, but not on a member that is gone: its lease ends by
// itself.
bool members::begin_cleanup(std::size_t i) {
    base::guard lock(mutex_);
    if (!members_[i]->up) return false;
    pending_.fetch_add(1, std::memory_order_acq_rel);
    return true;
}

void members::undo_grant(std::size_t i, const lock_key& key, const owner_id& token, milliseconds lease,
                         bool insist, unsigned attempt) {
    if (closed()) return;
    // The destructor waits only for the first try; a request on a dead connection may arrive at any time.
    const bool counted = attempt == 0 && begin_cleanup(i);
    store(i).release(
        {key, token, true}, boot_clock::now() + settings.answer_timeout,
        [weak = weak_from_this(), i, key, token, lease, insist, attempt, counted](const release_answer& a) {
            const auto self = weak.lock();
            if (!self) return;
            if (counted) self->pending_.fetch_sub(1, std::memory_order_acq_rel);
            const auto pause = engine::pause_before_undo(attempt + 1, lease);
            const bool sure = std::holds_alternative<released>(a) || std::holds_alternative<not_held>(a);
            if (self->closed() || !pause || (sure && !insist)) return;
            self->reactor.at(boot_clock::now() + *pause, [weak, i, key, token, lease, insist, attempt] {
                if (const auto again = weak.lock())
                    again->undo_grant(i, key, token, lease, insist, attempt + 1);
            });
        });
}

void members::release_at(std::size_t i, const release_request& r, time_point deadline,
                         handler<release_answer> done) {
    const bool counted = begin_cleanup(i);
    store(i).release(
        r, deadline,
        [self = shared_from_this(), i, r, counted, done = std::move(done)](const release_answer& said) {
            // One connection keeps the order, so earlier requests are done. Late requests are the exception:
            // scripts that were sent again, and requests on a connection that died. A member that does not
            // answer may also carry out earlier requests later.
            const bool may_arrive = self->late.forget(r.owner, i);
            if (may_arrive || std::holds_alternative<unknown>(said))
                self->undo_grant(i, r.key, r.owner, self->wanted.longest_lease, true);
            if (counted) self->pending_.fetch_sub(1, std::memory_order_acq_rel);
            done(said);
        });
}

}  // namespace holdfast::redlock_backend
