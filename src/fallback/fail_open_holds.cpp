// Renewals, releases and messages: of a lease that was granted by both stores, or by the substitute alone.
#include "fallback/fail_open_core.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::fallback {

struct fail_open_core::renewals {
    std::vector<contenders::one> of;
    std::vector<renew_request> asked;
    std::vector<renew_answer> answers;
    std::vector<std::size_t> in_main;  // the places of those that the main store has
    handler<std::vector<renew_answer>> done;
    std::thread::id caller;
    time_point deadline;
};

void fail_open_core::renew(std::span<const renew_request> all, time_point deadline,
                           handler<std::vector<renew_answer>> done) {
    const auto r = std::make_shared<renewals>();
    r->asked.assign(all.begin(), all.end());
    r->answers.assign(all.size(), not_held{});
    r->done = std::move(done);
    r->caller = std::this_thread::get_id();
    r->deadline = deadline;
    std::vector<renew_request> there;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) {
        r->of.push_back(contenders_.find(all[i].owner));
        if (!r->of.back()) continue;
        there.push_back({key_there(all[i].key), r->of.back()->there, all[i].lease});
        places.push_back(i);
    }
    if (there.empty() || closed()) return r->done(std::move(r->answers));
    const auto now = boot_clock::now();
    substitute_->renew(there, deadline, [self = shared_from_this(), r, places, now](auto answers) {
        std::vector<renew_request> main;
        for (std::size_t i = 0; i < places.size(); ++i) {
            const auto at = places[i];
            r->answers[at] = i < answers.size() ? std::move(answers[i]) : renew_answer{unknown{}};
            const auto& c = r->of[at];
            if (std::holds_alternative<not_held>(r->answers[at])) self->release_in_main(c);
            if (!std::holds_alternative<renewed>(r->answers[at])) continue;
            const bool waived = self->contenders_.with([&] {
                c->until = std::max(c->until, engine::later(now, r->asked[at].lease));
                return c->waived;
            });
            if (waived) {
                self->renew_restored(c, r->asked[at].lease, r->deadline);
                continue;
            }
            main.push_back(r->asked[at]);
            r->in_main.push_back(at);
        }
        if (main.empty()) return r->done(std::move(r->answers));
        self->on(r->caller, [self, r, main = std::move(main)] {
            if (self->closed()) return r->done(std::move(r->answers));
            self->with_.main.renew(main, r->deadline, [self, r](auto given) {
                std::vector<contenders::one> lost;
                for (std::size_t i = 0; i < r->in_main.size(); ++i) {
                    const auto at = r->in_main[i];
                    r->answers[at] = i < given.size() ? std::move(given[i]) : renew_answer{unknown{}};
                    if (std::holds_alternative<not_held>(r->answers[at])) lost.push_back(r->of[at]);
                }
                r->done(std::move(r->answers));
                for (const auto& c : lost) self->leave(c);  // once their holders know
            });
        });
    });
}

// The substitute does not hold the lock any more, so the lease ends in the main store, too.
void fail_open_core::release_in_main(const contenders::one& c) {
    const auto as = contenders_.with([&] { return !c->waived ? c->owner : c->restored; });
    if (!as.empty() && !closed()) with_.undo(c->key, as, milliseconds{0});
}

void fail_open_core::renew_restored(const contenders::one& c, milliseconds lease, time_point deadline) {
    const auto as = contenders_.with([&] { return c->is_restored ? c->restored : owner_id{}; });
    if (as.empty()) return;
    with_.given.reactor.post([self = shared_from_this(), c, as, lease, deadline] {
        if (self->closed()) return;
        self->with_.main.renew(std::vector{renew_request{c->key, as, lease}}, deadline,
                               [self, c](const std::vector<renew_answer>& answers) {
                                   if (answers.empty() || !std::holds_alternative<not_held>(answers[0]))
                                       return;
                                   self->contenders_.with([&] { c->is_restored = false; });
                               });
    });
}

void fail_open_core::release(const release_request& r, time_point deadline, handler<release_answer> done) {
    const auto c = contenders_.find(r.owner);
    // Without an entry it is a repetition, or the undoing of an attempt of long ago.
    if (!c) return with_.main.release(r, deadline, std::move(done));
    const auto [waived, restored] = contenders_.with([&] {
        return std::pair{c->waived, c->is_restored || c->asks_again ? c->restored : owner_id{}};
    });
    if (!waived) {
        if (r.undo) remember_undone(c->key, c->owner, milliseconds{0});
        // Both at once: others of this machine need not wait for the main store. But the caller does for
        // both: the lock is free when it goes on.
        struct two_answers {
            handler<release_answer> done;
            release_answer of_main;
            std::atomic<int> missing{2};
        };
        const std::shared_ptr<two_answers> both{new two_answers{std::move(done), {}}};
        const auto one_more = [both] {
            if (--both->missing == 0) both->done(std::move(both->of_main));
        };
        with_.main.release(r, deadline, [both, one_more](release_answer got) {
            both->of_main = std::move(got);
            one_more();
        });
        if (!contenders_.leave(c) || closed()) return one_more();
        return substitute_->release({key_there(c->key), c->there, true}, deadline,
                                    [one_more](const release_answer&) { one_more(); });
    }
    if (!restored.empty()) with_.undo(c->key, restored, milliseconds{0});
    if (!contenders_.leave(c)) return done(not_held{});
    substitute_->release({key_there(c->key), c->there, r.undo, r.evicts}, deadline, std::move(done));
}

namespace {

class both : public watch_handle {
  public:
    both(std::unique_ptr<watch_handle> main, std::unique_ptr<watch_handle> there)
        : main_(std::move(main)), there_(std::move(there)) {}

  private:
    const std::unique_ptr<watch_handle> main_;
    const std::unique_ptr<watch_handle> there_;
};

}  // namespace

std::unique_ptr<watch_handle> fail_open_core::watch(const lock_key& key, const owner_id& owner,
                                                    handler<watch_event> on_event) {
    const auto to = std::make_shared<handler<watch_event>>(std::move(on_event));
    const auto c = enter({key, owner, milliseconds{0}}, engine::later(boot_clock::now(), look_every * 10));
    auto main = with_.main.watch(key, owner, [self = shared_from_this(), to, c](watch_event e) {
        // While an attempt is open it may yet do without the main store: ask, and do not take the message for
        // a grant.
        if (!e.message.ticket.empty() &&
            self->contenders_.with([&] { return c->waived || c->gone || c->open_rounds > 0; }))
            e.message.ticket.clear();
        (*to)(std::move(e));
    });
    std::unique_ptr<watch_handle> there;
    if (ask_every_there_ == milliseconds{0})
        there = substitute_->watch(key_there(key), c->there, [to](const watch_event& e) {
            // Whether the substitute sends messages decides nothing: the watch of the main store does.
            using change = watch_event::change;
            if (e.what == change::woken || e.what == change::broken) (*to)({change::woken, {}});
        });
    return std::make_unique<both>(std::move(main), std::move(there));
}

}  // namespace holdfast::fallback
