// Attempts: one level after the other, all that the mode needs or none.
#include "backends/joint/round.hpp"
#include "base/text.hpp"
#include "engine/kinds.hpp"
#include "engine/retry_policy.hpp"
#include "store/counters.hpp"

#include <algorithm>
#include <array>

namespace holdfast::joint_backend {

namespace {

// A waiter joins the queue of the first level only, so nothing wakes it for the second.
constexpr milliseconds look_at_second{50};

bool is_granted(const attempt_answer& got) { return std::holds_alternative<granted>(got); }

}  // namespace

bool core::may_grant(time_point now) const { return mode_ && !unusable_ && bound_ && bound_->until() > now; }

failure core::why_no_mode() const {
    if (unusable_) return why_none_;
    failure why{make_error_code(errc::unavailable), "the arbiter has not confirmed which level is to be used",
                why_none_.server_text};
    if (!why_none_.text.empty()) why.text += ": " + why_none_.text;
    return why;
}

std::optional<failure> core::too_long(milliseconds lease) const {
    for (std::size_t i = 0; i < size(); ++i) {
        if (wanted.pin && *wanted.pin != i) continue;
        const auto longest = wanted.levels[i].longest_lease;
        if (!longest || lease <= *longest) continue;
        return failure{
            make_error_code(errc::invalid_argument),
            "the lease of " + base::to_text(lease) + " is longer than the longest_lease of level " +
                std::to_string(i + 1) + ", " + place(i) + ", " + base::to_text(*longest) +
                ", and a change of the mode to that level would end it; raise longest_lease in the "
                "URL of all clients, or ask for less",
            {}};
    }
    return std::nullopt;
}

milliseconds core::within_limits(milliseconds lease) const {
    for (std::size_t i = 0; i < size(); ++i)
        if (!wanted.pin || *wanted.pin == i)
            lease = std::min(lease, wanted.levels[i].longest_lease.value_or(lease));
    return lease;
}

void core::name_in(hold& h, std::size_t i) {
    auto& p = h.parts[i];
    if (!p.owner.empty()) return;
    bool own = i == 0 && !std::exchange(h.named, true);
    if (own) {
        const base::guard lock(names_mutex_);
        own = !undone_.contains(h.owner.str());
    }
    p.owner = own ? h.owner : level(i).new_owner(h.key.of, h.permits);
}

void core::ask_as(hold& h, std::size_t i) {
    name_in(h, i);
    h.parts[i].is = part::state::asked;
}

void core::attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) {
    if (engine::rules_of(r.key.of).most_permits > 1 && !r.total)
        return done(refused{{make_error_code(errc::invalid_argument),
                             "a semaphore that may change its store needs semaphore_options::total (run: "
                             "--of), because each of its stores must learn the number of permits",
                             {}},
                            {}});
    if (auto no = too_long(r.lease)) return done(refused{*std::move(no), {}});
    const auto to = std::make_shared<round>(r, deadline, std::move(done));
    {
        const base::guard lock(mutex_);
        to->of = holds_.enter(r.key, r.owner, size());
        auto& h = *to->of;
        to->number = ++h.rounds;
        ++h.open;
        h.granted = h.moves = h.over = false;  // the client did not take what was granted before
        h.lease = std::max(h.lease, r.lease);
        h.wants(r.permits, r.total);
        h.until =
            std::max(h.until, engine::later(deadline, r.lease + r.lease / 50 + engine::longest_on_its_way));
    }
    next_level(to);
}

void core::next_level(const std::shared_ptr<round>& to) {
    enum class outcome { ask, raise, granted, waits, late, refuse } next = outcome::ask;
    std::size_t i = 0;
    failure why;
    bool has_new_name = false;
    auto r = to->asked;
    if (closed()) return answer(to, unknown{closing()});
    {
        const base::guard lock(mutex_);
        const auto now = boot_clock::now();
        auto& h = *to->of;
        if (!may_grant(now)) extend_bound(now);  // the session of a level has passed, and not the mode lease
        if (h.gone || h.rounds != to->number) {
            next = outcome::late;
        } else if (!may_grant(now)) {
            next = unusable_ || to->deadline <= now ? outcome::refuse : outcome::waits;
            why = why_no_mode();
            if (next == outcome::waits) wait_for_mode(to);
        } else {
            if (to->epoch != mode_->epoch || to->under != bound_) {
                to->epoch = mode_->epoch;
                to->under = bound_;
                to->got.clear();
                to->fences.clear();
                to->result = {.lease = to->asked.lease};
            }
            const auto missing = std::ranges::find_if(mode_->needed, [&](auto level) {
                return std::ranges::find(to->got, level) == to->got.end();
            });
            const auto lower =
                std::ranges::find_if(to->fences, [&](auto f) { return f < to_number(to->result.fence); });
            if (missing == mode_->needed.end() && lower != to->fences.end()) {
                next = outcome::raise;
                i = to->got[static_cast<std::size_t>(lower - to->fences.begin())];
                r.owner = h.parts[i].owner;
            } else if (missing == mode_->needed.end()) {
                next = outcome::granted;
                h.granted = true;
                h.under = bound_;
                to->result.bound = bound_;
            } else {
                i = *missing;
                has_new_name = h.parts[i].owner.empty() && !h.watched.expired();
                ask_as(h, i);
                r.owner = h.parts[i].owner;
                // An owner that has the first of two levels does not join the queue of the second.
                if (!to->got.empty()) r.want = intent::look;
            }
        }
    }
    switch (next) {
        case outcome::waits: return keeper_->need();
        case outcome::granted: return answer(to, std::move(to->result));
        case outcome::late: return answer(to, unknown{{make_error_code(errc::unknown_outcome), {}, {}}});
        case outcome::refuse: return give_back(to, refused{std::move(why)});
        case outcome::raise: return raise_fence(to, i, r.owner);
        case outcome::ask: break;
    }
    if (has_new_name) watch_under_new_name(to->of);
    on_thread_for(i, to->caller, [self = shared_from_this(), to, i, r = std::move(r)] {
        if (self->closed()) return self->answer(to, unknown{closing()});
        self->level(i).attempt(r, to->deadline, [self, to, i, owner = r.owner](attempt_answer got) {
            self->on_answer(to, i, owner, std::move(got));
        });
    });
}

void core::on_answer(const std::shared_ptr<round>& to, std::size_t i, const owner_id& owner,
                     attempt_answer&& got) {
    if (closed()) return answer(to, is_granted(got) ? attempt_answer{unknown{closing()}} : std::move(got));
    bool late = false, bounds_moved = false;
    bool began_before = false;  // the mode has changed meanwhile
    {
        const base::guard lock(mutex_);
        auto& p = to->of->parts[i];
        auto& h = *to->of;
        late = h.gone || h.rounds != to->number;
        began_before = p.owner != owner;
        if (late && !h.gone && p.owner == owner) {
            if (std::holds_alternative<unknown>(got))
                p.uncertain = true;  // a later attempt has the same name
        } else if (late) {
            // Its release may have been carried out before this attempt was.
            if (is_granted(got) || std::holds_alternative<unknown>(got))
                undo_soon(i, h.key, owner, to->asked.lease);
        } else if (began_before) {
            if (is_granted(got) || std::holds_alternative<unknown>(got))
                undo_soon(i, to->of->key, owner, to->asked.lease);
        } else if (auto* const yes = std::get_if<granted>(&got)) {
            p.is = part::state::held;
            to->got.push_back(i);
            to->fences.push_back(to_number(yes->fence));
            to->result.fence = std::max(to->result.fence, yes->fence);
            to->result.lease = std::min(to->result.lease, yes->lease);
            to->result.repeated = to->result.repeated || yes->repeated;
            to->result.kept_for = std::max(to->result.kept_for, yes->kept_for);
            if (yes->bound) levels_[i]->session = yes->bound;
            bounds_moved = follow_sessions(boot_clock::now());
        } else if (std::holds_alternative<unknown>(got)) {
            p.uncertain = true;
        } else if (to->asked.want == intent::look || !to->got.empty()) {
            // Unless an earlier attempt has no answer yet, or a move has taken it.
            if (p.uncertain || h.open > 1 || p.is == part::state::held) undo_soon(i, h.key, owner, h.lease);
            p = {};  // it left nothing behind
        } else {
            // The owner waits in the queue of the first level, and must have nothing in others.
            for (std::size_t other = 0; other < size(); ++other)
                if (other != i) free_parts(to->of, std::array{other});
        }
    }
    if (bounds_moved) given_.notify({.what = notice::change::bounds_moved});
    if (late) return answer(to, unknown{{make_error_code(errc::unknown_outcome), {}, {}}});
    if (began_before || is_granted(got)) return next_level(to);
    if (auto* const held = std::get_if<busy>(&got)) {
        held->ticket.clear();  // a message only means "try again": the mode may be another one then
        if (const auto every = level(i).has().ask_every; every > milliseconds{0})
            held->look_again = std::min(held->look_again.value_or(every), every);
        if (!to->got.empty())
            held->look_again = std::min(held->look_again.value_or(look_at_second), look_at_second);
    }
    if (std::holds_alternative<unknown>(got)) return answer(to, std::move(got));  // the caller releases all
    give_back(to, std::move(got));
}

// The clocks of two levels differ, and the fence is the greater of theirs. Both must know it before the grant
// counts: the next one may need only the other level.
void core::raise_fence(const std::shared_ptr<round>& to, std::size_t i, const owner_id& owner) {
    const auto highest = to_number(to->result.fence);
    on_thread_for(i, to->caller, [self = shared_from_this(), to, i, owner, highest] {
        if (self->closed()) return self->answer(to, unknown{closing()});
        self->level(i).as_counters()->adjust(
            {to->of->key, adjustment::raise_fence, static_cast<std::int64_t>(highest), owner_id{}, owner},
            to->deadline, [self, to, i, highest](const adjust_answer& got) {
                const auto* const done = std::get_if<adjusted>(&got);
                if (done == nullptr || done->value != 1) {  // the caller releases all
                    failure why{make_error_code(errc::unknown_outcome), {}, {}};
                    if (const auto* const no = std::get_if<refused>(&got))
                        why.text = "its fence could not be raised: " + no->in_one();
                    return self->answer(to, unknown{std::move(why)});
                }
                {
                    const base::guard lock(self->mutex_);
                    for (std::size_t k = 0; k < to->got.size(); ++k)
                        if (to->got[k] == i) to->fences[k] = highest;
                }
                self->next_level(to);
            });
    });
}

// All or nothing: what this attempt got in other levels is released before its answer. The caller would
// otherwise meet it again.
void core::give_back(const std::shared_ptr<round>& to, attempt_answer&& then) {
    std::optional<std::pair<std::size_t, owner_id>> next;
    {
        const base::guard lock(mutex_);
        auto& h = *to->of;
        while (!to->got.empty() && !next) {
            const auto i = to->got.back();
            to->got.pop_back();
            to->fences.pop_back();
            auto& p = h.parts[i];
            if (h.gone || h.rounds != to->number || p.is == part::state::none) continue;
            next.emplace(i, p.owner);
            if (p.uncertain || h.open > 1) undo_soon(i, h.key, p.owner, h.lease);
            p = {};
        }
        if (!next && to->asked.want == intent::look && !h.gone && h.rounds == to->number) {
            h.gone = true;
            free_all_parts(to->of);
            holds_.remove(to->of);
        }
    }
    if (!next) return answer(to, std::move(then));
    if (closed()) return answer(to, std::move(then));
    const auto& [i, owner] = *next;
    const auto shared = std::make_shared<attempt_answer>(std::move(then));
    on_thread_for(i, to->caller, [self = shared_from_this(), to, i = i, owner = owner, shared] {
        if (self->closed()) return self->answer(to, std::move(*shared));
        self->level(i).release({to->of->key, owner, true}, to->deadline,
                               [self, to, i, owner, shared](const release_answer& got) {
                                   const bool done = std::holds_alternative<released>(got) ||
                                                     std::holds_alternative<not_held>(got);
                                   if (!done) self->undo_soon(i, to->of->key, owner, to->asked.lease);
                                   self->give_back(to, std::move(*shared));
                               });
    });
}

void core::answer(const std::shared_ptr<round>& to, attempt_answer&& what) {
    {
        const base::guard lock(mutex_);
        --to->of->open;
    }
    to->done(std::move(what));
}

void core::wait_for_mode(const std::shared_ptr<round>& to) {
    waiting_.push_back(to);
    to->timer = given_.reactor.at(to->deadline, [self = shared_from_this(), to] {
        {
            const base::guard lock(self->mutex_);
            const auto at = std::ranges::find(self->waiting_, to);
            if (at == self->waiting_.end()) return;
            self->waiting_.erase(at);
        }
        self->next_level(to);
    });
}

}  // namespace holdfast::joint_backend
