// Leases that must take another level, because the mode needs it now.
#include "backends/joint/core.hpp"

#include <algorithm>

namespace holdfast::joint_backend {

namespace {

constexpr milliseconds move_again{100};

}  // namespace

void core::move(const hold_ptr& h) {
    std::optional<std::size_t> next;
    attempt_request r{h->key, {}, {}};
    std::uint64_t epoch = 0;
    time_point until{};
    {
        const base::guard lock(mutex_);
        if (mode_)
            for (const auto i : mode_->needed)
                if (!next && h->parts[i].is != part::state::held) next = i;
        if (!h->moves || h->gone || closed() || !next) {
            h->moves = false;
        } else {
            ask_as(*h, *next);
            r.owner = h->parts[*next].owner;
            r.lease = h->lease;
            r.permits = h->permits;
            r.total = h->total;
            epoch = mode_->epoch;
            // In time for another try, and for the end of this lease before the bound is over.
            const auto now = boot_clock::now();
            until = now + settings_.answer_timeout;
            if (bound_)
                until = std::min(until, std::max(bound_->until() - wanted.mode_lease / 4, now + move_again));
        }
        if (!h->moves) next.reset();
    }
    if (!next) return look_at_bound();
    const auto i = *next;
    given_.reactor.post([self = shared_from_this(), h, i, r, epoch, until] {
        if (self->closed()) return;
        self->level(i).attempt(r, until, [self, h, i, epoch, owner = r.owner](const attempt_answer& got) {
            if (!self->closed()) self->on_moved(h, i, owner, epoch, got);
        });
    });
}

void core::on_moved(const hold_ptr& h, std::size_t i, const owner_id& owner, std::uint64_t epoch,
                    const attempt_answer& got) {
    const auto* const yes = std::get_if<granted>(&got);
    bool again = false, worked = false, bounds_moved = false;
    std::string why;
    {
        const base::guard lock(mutex_);
        const auto now = boot_clock::now();
        auto& p = h->parts[i];
        if (h->gone || p.owner != owner) {
            again = !h->gone && h->moves;
            if (yes != nullptr || std::holds_alternative<unknown>(got)) undo_soon(i, h->key, owner, h->lease);
        } else if (yes == nullptr && (!h->moves || p.is == part::state::held)) {
            // An attempt of the owner has gone ahead of it.
            if (std::holds_alternative<unknown>(got)) p.uncertain = true;
            worked = h->moves;
        } else if (yes != nullptr && yes->lease >= h->lease) {
            p.is = part::state::held;
            if (yes->bound) levels_[i]->session = yes->bound;
            bounds_moved = follow_sessions(now);
            worked = true;
        } else {
            // While the mode lease lasts, the lease is valid as it is. Before the other leases of this client
            // would end because of it, it ends.
            const auto left = bound_ ? bound_->until() - now : boot_clock::duration{};
            again = left > wanted.mode_lease / 4 && (yes == nullptr || mode_->epoch != epoch);
            if (std::holds_alternative<unknown>(got)) p.uncertain = true;
            if (const auto* const held = std::get_if<busy>(&got)) why = held->holder + " has it";
            if (const auto* const no = std::get_if<refused>(&got)) why = no->in_one();
            if (const auto* const no = std::get_if<unknown>(&got)) why = no->in_one();
            if (yes != nullptr) why = "it is granted for a shorter time only";
        }
    }
    if (bounds_moved) given_.notify({.what = notice::change::bounds_moved});
    if (worked) return move(h);  // to the next level, or it is done
    if (again)
        given_.reactor.at(boot_clock::now() + move_again, [self = shared_from_this(), h] {
            if (!self->closed()) self->move(h);
        });
    else if (!why.empty())
        end_lease(h, "the mode needs " + place(i) + ", too, where it cannot be taken: " + why);
    else
        look_at_bound();
}

std::function<void()> core::when_ended(const hold_ptr& h, early how) {
    return [weak = weak_from_this(), h, how] {
        const auto self = weak.lock();
        if (!self) return;
        {
            const base::guard lock(self->mutex_);
            h->over = true;
            h->moves = false;
            if (how == early::unasked && self->bound_) h->kept_until = self->bound_->until();
        }
        self->look_at_bound();
    };
}

// Until the client has ended it, the bound is not extended. The lock itself is kept until the deadline that
// the holder may have read, and by a client that waits for its work to stop even longer.
void core::end_lease(const hold_ptr& h, const std::string& why) {
    std::uint64_t of = 0;
    {
        const base::guard lock(mutex_);
        if (h->gone) h->moves = false;
        of = h->rounds;
    }
    given_.notify({.what = notice::change::evicted,
                   .detail = why,
                   .owner = h->owner,
                   .confirm = [] {},
                   .ended = when_ended(h, early::unasked)});
    // It may have been granted a moment ago, and the client not know it yet.
    given_.reactor.at(boot_clock::now() + move_again, [self = shared_from_this(), h, why, of] {
        const bool over = [&] {
            const base::guard lock(self->mutex_);
            if (h->rounds != of) return true;  // another lease of the owner
            const bool may_stay = self->mode_ && h->holds_all(self->mode_->needed);
            if (may_stay) h->moves = false;
            return self->closed() || may_stay || !h->counts(boot_clock::now());
        }();
        if (!over) self->end_lease(h, why);
    });
}

}  // namespace holdfast::joint_backend
