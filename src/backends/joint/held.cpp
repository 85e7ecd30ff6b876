// Renewals and releases, in all levels where an owner has something.
#include "backends/joint/core.hpp"
#include "engine/retry_policy.hpp"

#include <algorithm>
#include <span>

namespace holdfast::joint_backend {

namespace {

// How soon renewals are asked again that wait for a lease to take another level.
constexpr milliseconds while_it_moves{20};
// And for how long: other leases that were asked with it must not become late.
constexpr milliseconds moves_within{500};

bool is_over(const release_answer& got) {
    return std::holds_alternative<released>(got) || std::holds_alternative<not_held>(got);
}

}  // namespace

// --- renewals -------------------------------------------------------------------------------------------

struct core::renewals {
    std::vector<renew_request> asked;
    std::vector<hold_ptr> of;
    std::vector<renew_answer> answers;
    handler<std::vector<renew_answer>> done;
    time_point deadline;
    time_point wait_until;  // for those that take another level
    std::thread::id caller;
    needed_levels needed;           // by the mode in which they were sent
    std::vector<std::size_t> sent;  // which of them
    std::vector<bool> answered;     // by a level that is still needed
    std::atomic<std::size_t> open{0};

    // The answer for a lease is that of the level which says least.
    void add(std::size_t i, renew_answer&& more) {
        auto& so_far = answers[i];
        const auto rank = [](const renew_answer& a) {
            if (std::holds_alternative<not_held>(a)) return 3;
            if (std::holds_alternative<refused>(a)) return 2;
            return std::holds_alternative<unknown>(a) ? 1 : 0;
        };
        auto* const best = std::get_if<renewed>(&so_far);
        const auto* const yes = std::get_if<renewed>(&more);
        if (best != nullptr && yes != nullptr)
            best->lease = std::min(best->lease, yes->lease);
        else if (rank(more) > rank(so_far))
            so_far = std::move(more);
    }
};

void core::renew(std::span<const renew_request> all, time_point deadline,
                 handler<std::vector<renew_answer>> done) {
    const auto r = std::make_shared<renewals>();
    r->asked.assign(all.begin(), all.end());
    r->done = std::move(done);
    r->deadline = deadline;
    const auto now = boot_clock::now();
    r->wait_until = std::min<time_point>(now + moves_within, now + (deadline - now) / 2);
    r->caller = std::this_thread::get_id();
    send_renewals(r);
}

void core::send_renewals(const std::shared_ptr<renewals>& r) {
    const failure lacks{
        make_error_code(errc::unavailable), "the lock is not held in all levels that the mode needs", {}};
    std::vector<std::vector<renew_request>> requests;
    bool later = false;
    r->of.clear();
    r->answers.clear();
    r->sent.clear();
    r->answered.assign(r->asked.size(), false);
    r->needed.clear();
    {
        const base::guard lock(mutex_);
        const auto now = boot_clock::now();
        for (const auto& one : r->asked) r->of.push_back(holds_.find(one.owner));
        if (!closed() && may_grant(now)) r->needed = mode_->needed;
        requests.resize(r->needed.size());
        for (std::size_t i = 0; i < r->asked.size(); ++i) {
            const auto& h = r->of[i];
            if (!h || h->gone) {
                r->answers.emplace_back(not_held{});
                continue;
            }
            // A nested hold may want more than a level gives that is not in use now.
            r->asked[i].lease = within_limits(r->asked[i].lease);
            r->answers.emplace_back(unknown{r->needed.empty() ? why_no_mode() : lacks});
            if (r->needed.empty()) continue;
            if (!h->holds_all(r->needed)) {
                later = later || h->moves;
                continue;
            }
            r->answers.back() = renewed{r->asked[i].lease};
            r->sent.push_back(i);
            h->lease = std::max(h->lease, r->asked[i].lease);
            h->until =
                std::max(h->until, engine::later(r->deadline, r->asked[i].lease + r->asked[i].lease / 50));
            for (std::size_t l = 0; l < r->needed.size(); ++l) {
                auto next = r->asked[i];
                next.owner = h->parts[r->needed[l]].owner;
                requests[l].push_back(std::move(next));
            }
        }
    }
    if (later && boot_clock::now() < r->wait_until && !closed()) {
        given_.reactor.at(boot_clock::now() + while_it_moves,
                          [self = shared_from_this(), r] { self->send_renewals(r); });
        return;
    }
    if (r->sent.empty()) return r->done(std::move(r->answers));
    r->open = requests.size();
    for (std::size_t l = 0; l < requests.size(); ++l) {
        on_thread_for(
            r->needed[l], r->caller,
            [self = shared_from_this(), r, i = r->needed[l], asked = std::move(requests[l])] {
                std::vector<owner_id> as;
                for (const auto& one : asked) as.push_back(one.owner);
                const auto take = [self, r, i, as = std::move(as)](std::vector<renew_answer>&& got) {
                    {
                        const base::guard lock(self->mutex_);
                        for (std::size_t k = 0; k < r->sent.size(); ++k) {
                            // What was released there because the mode has changed says nothing.
                            if (r->of[r->sent[k]]->parts[i].owner != as[k]) continue;
                            r->answered[r->sent[k]] = true;
                            r->add(r->sent[k], k < got.size() ? std::move(got[k]) : renew_answer{unknown{}});
                        }
                    }
                    if (--r->open == 0) self->on_renewed(r);
                };
                if (self->closed()) return take(std::vector<renew_answer>(asked.size(), unknown{closing()}));
                self->level(i).renew(asked, r->deadline,
                                     [take](std::vector<renew_answer> got) { take(std::move(got)); });
            });
    }
}

void core::on_renewed(const std::shared_ptr<renewals>& r) {
    if (!closed()) {
        const base::guard lock(mutex_);
        for (const auto i : r->sent) {
            if (!r->answered[i])
                r->answers[i] = unknown{{make_error_code(errc::unavailable), "the mode has changed", {}}};
            // Its client counts it as lost now, and will not release it.
            if (!std::holds_alternative<not_held>(r->answers[i]) || r->of[i]->gone) continue;
            r->of[i]->gone = true;
            free_all_parts(r->of[i]);
            holds_.remove(r->of[i]);
        }
    }
    r->done(std::move(r->answers));
}

// --- releases -------------------------------------------------------------------------------------------

struct core::releasing {
    releasing(release_request r, time_point until) : asked(std::move(r)), deadline(until) {}

    const release_request asked;
    const time_point deadline;
    const std::thread::id caller = std::this_thread::get_id();
    handler<release_answer> done;
    hold_ptr of;
    std::vector<std::size_t> levels;  // still to be released, the last first
    release_answer result = not_held{};
    bool any = false;
};

void core::release(const release_request& asked, time_point deadline, handler<release_answer> done) {
    const auto r = std::make_shared<releasing>(asked, deadline);
    bool waited_for = false;
    time_point not_before{};
    {
        const base::guard lock(mutex_);
        r->of = holds_.find(asked.owner);
        if (r->of) {
            auto& h = *r->of;
            not_before = h.kept_until;
            waited_for = h.moves || (h.granted && mode_ && !h.holds_all(mode_->needed));
            h.gone = true;  // from here on none of its leases is valid
            std::vector<std::size_t> elsewhere;
            for (std::size_t i = 0; i < size(); ++i)
                if (h.parts[i].is != part::state::none) elsewhere.push_back(i);
            // The level that newcomers take first is released last: who takes it meets nobody in the other.
            if (mode_)
                for (const auto i : mode_->needed)
                    if (std::erase(elsewhere, i) > 0) r->levels.push_back(i);
            if (r->levels.empty()) std::swap(r->levels, elsewhere);
            free_parts(r->of, elsewhere);
        }
    }
    if (closed()) return done(refused{closing()});
    if (!r->of) return done(not_held{});
    r->done = std::move(done);
    if (waited_for) look_at_bound();
    if (not_before <= boot_clock::now()) return next_release(r);
    given_.reactor.at(not_before, [self = shared_from_this(), h = r->of] {
        if (self->closed()) return;
        const base::guard lock(self->mutex_);
        self->free_all_parts(h);
        self->holds_.remove(h);
    });
    r->done(released{});
}

void core::next_release(const std::shared_ptr<releasing>& r) {
    std::size_t i = 0;
    owner_id owner;
    milliseconds lease{};
    bool uncertain = false, was_held = false;
    {
        const base::guard lock(mutex_);
        auto& h = *r->of;
        while (!r->levels.empty() && h.parts[r->levels.back()].is == part::state::none) r->levels.pop_back();
        if (r->levels.empty()) {
            if (std::ranges::all_of(h.parts, [](const part& p) { return p.is == part::state::none; }))
                holds_.remove(r->of);
        } else {
            i = r->levels.back();
            owner = h.parts[i].owner;
            uncertain = h.parts[i].uncertain || h.open > 0;
            was_held = h.parts[i].is == part::state::held;
            lease = h.lease;
        }
    }
    if (r->levels.empty()) return r->done(std::move(r->result));
    r->levels.pop_back();
    if (closed()) {
        r->levels.clear();
        return r->done(unknown{closing()});
    }
    on_thread_for(i, r->caller, [self = shared_from_this(), r, i, owner, lease, uncertain, was_held] {
        if (self->closed()) {
            r->levels.clear();
            return r->done(unknown{closing()});
        }
        auto request = r->asked;
        request.owner = owner;
        self->level(i).release(
            request, r->deadline, [self, r, i, owner, lease, uncertain, was_held](release_answer got) {
                // An attempt that has no answer yet may be carried out after this release.
                if (uncertain) self->undo_soon(i, r->asked.key, owner, lease);
                {
                    const base::guard lock(self->mutex_);
                    auto& p = r->of->parts[i];
                    if (is_over(got) && p.owner == owner) p = {};
                }
                // A lock is released if all levels say so.
                const auto rank = [](const release_answer& a) {
                    return std::holds_alternative<released>(a)   ? 0
                           : std::holds_alternative<not_held>(a) ? 1
                           : std::holds_alternative<refused>(a)  ? 2
                                                                 : 3;
                };
                const bool counts =
                    was_held || !is_over(got);  // what it only waited for says nothing of its lease
                if (counts ? !std::exchange(r->any, true) || rank(got) >= rank(r->result)
                           : !r->any && rank(got) == 0)
                    r->result = std::move(got);
                self->next_release(r);
            });
    });
}

void core::free_parts(const hold_ptr& h, std::span<const std::size_t> of) {
    for (const auto i : of) {
        auto& p = h->parts[i];
        if (p.is == part::state::none) continue;
        undo_soon(i, h->key, p.owner, h->lease);
        p = {};
    }
}

void core::undo_soon(std::size_t i, const lock_key& key, const owner_id& owner, milliseconds lease) {
    if (!given_.undo) return;
    if (i == 0) {
        const base::guard lock(names_mutex_);
        undone_[owner.str()] = engine::later(
            boot_clock::now(), lease + 2 * engine::carried_out_within(settings_.answer_timeout));
    }
    given_.reactor.post([self = shared_from_this(), i, key, owner, lease] {
        if (!self->closed()) self->given_.undo(self->level(i), key, owner, lease);
    });
}

void core::release_later(const lock_key& key, const owner_id& owner) noexcept {
    const base::guard lock(mutex_);
    const auto h = holds_.find(owner);
    if (!h || closed()) return;
    h->gone = true;
    for (std::size_t i = 0; i < size(); ++i)
        if (h->parts[i].is != part::state::none) level(i).release_later(key, h->parts[i].owner);
}

void core::free_all_parts(const hold_ptr& h) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < size(); ++i) all.push_back(i);
    free_parts(h, all);
}

}  // namespace holdfast::joint_backend
