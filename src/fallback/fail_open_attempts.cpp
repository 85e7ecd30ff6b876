// Attempts: the substitute first, then the main store, which an outage waives.
#include "fallback/fail_open_core.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::fallback {

namespace {

// A try that had less time says nothing about the store.
constexpr milliseconds least_share{100};

}  // namespace

contenders::one fail_open_core::enter(const attempt_request& r, time_point until) {
    return contenders_.enter(r.key, r.owner, until,
                             [&] { return substitute_->new_owner(kind_there(r.key.of), 1); });
}

void fail_open_core::attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) {
    if (closed()) return done(refused{closing()});
    const auto to =
        std::make_shared<round>(round{enter(r, engine::later(std::max(deadline, boot_clock::now()), r.lease)),
                                      r, deadline, std::move(done), std::this_thread::get_id()});
    to->number = contenders_.with([&] {
        ++to->of->open_rounds;
        return ++to->of->rounds;
    });
    look_soon();
    attempt_request there{key_there(r.key), to->of->there, r.lease, r.want};
    if (!r.downgrading_from.empty()) {
        // The main store knows it by another name, or not at all.
        const auto writer = contenders_.find(r.downgrading_from);
        to->asked.downgrading_from = !writer ? owner_id{} : contenders_.with([&] {
            if (!writer->waived) return writer->owner;
            return writer->is_restored ? writer->restored : owner_id{};
        });
        if (writer) there.downgrading_from = writer->there;
    }
    substitute_->attempt(there, deadline, [self = shared_from_this(), to](attempt_answer got) {
        if (std::holds_alternative<granted>(got))
            return self->on(to->caller, [self, to] { self->ask_main(to); });
        // A message there only means "try again": the main store has to grant it, too.
        if (auto* const held = std::get_if<busy>(&got)) {
            held->ticket.clear();
            if (const auto every = self->ask_every_there_; every > milliseconds{0})
                held->look_again = std::min(held->look_again.value_or(every), every);
        }
        self->leave_if_look(to);
        self->answer(to, std::move(got));
    });
}

void fail_open_core::answer(const std::shared_ptr<round>& to, attempt_answer&& what) {
    contenders_.with([&] { --to->of->open_rounds; });
    to->done(std::move(what));
}

// The owner was released meanwhile, or has asked again: nobody waits for this answer.
bool fail_open_core::is_late(const std::shared_ptr<round>& to) {
    return contenders_.with([&] { return to->of->gone || to->of->rounds != to->number; });
}

void fail_open_core::end_late(const std::shared_ptr<round>& to) {
    if (contenders_.with([&] { return to->of->gone; })) release_there(to->of);
    answer(to, unknown{{make_error_code(errc::unknown_outcome), {}, {}}});
}

// All tries together must fit into the time that there is; fewer of them if it is short.
boot_clock::duration fail_open_core::share_of(const round& r, time_point now) const {
    const auto left = std::max<boot_clock::duration>(r.deadline - now, milliseconds{1});
    auto tries = with_.how.tries - std::min(r.tries, with_.how.tries - 1);
    const auto share = [&] { return (left - with_.how.pause * (tries - 1)) / tries; };
    while (tries > 1 && share() < std::max<boot_clock::duration>(least_share, left / (2 * tries))) --tries;
    return share();
}

void fail_open_core::ask_main(const std::shared_ptr<round>& to) {
    if (closed()) return answer(to, unknown{closing()});
    const auto& c = to->of;
    const auto now = boot_clock::now();
    if (is_late(to)) return end_late(to);
    const bool was_waived = contenders_.with([&] { return c->waived; });
    if (was_waived || !permitted(c->key, to->asked.at_least)) return waive(to);
    contenders_.with([&] { c->asked = true; });
    const auto share = share_of(*to, now);
    to->in_time =
        share >= std::min<boot_clock::duration>(least_share, with_.given.settings.answer_timeout / 2);
    ++to->tries;
    to->server = with_.main.server_of(c->key);
    // The main store may answer later than asked to: it gives up a silent connection after a time of its own.
    const auto is_over = std::make_shared<std::atomic<bool>>(false);
    const auto timer =
        with_.given.reactor.at(now + share + share / 16, [self = shared_from_this(), to, is_over] {
            if (is_over->exchange(true)) return;
            self->on_main_answer(to, unknown{{make_error_code(errc::unknown_outcome), {}, {}}});
        });
    with_.main.attempt(to->asked, now + share,
                       [self = shared_from_this(), to, is_over, timer](attempt_answer got) {
                           if (is_over->exchange(true)) return self->on_late_answer(to, got);
                           (void)self->with_.given.reactor.cancel(timer);
                           self->on_main_answer(to, std::move(got));
                       });
}

// The round has gone on without it.
void fail_open_core::on_late_answer(const std::shared_ptr<round>& to, const attempt_answer& got) {
    if (closed() || !std::holds_alternative<granted>(got)) return;
    const auto& c = to->of;
    if (contenders_.with([&] { return c->gone || c->waived; }))
        undo_in_main(c->key, c->owner, to->asked.lease);
}

void fail_open_core::on_main_answer(const std::shared_ptr<round>& to, attempt_answer&& got) {
    const auto& c = to->of;
    const bool outage = is_outage(got);
    if (closed()) return answer(to, outage ? attempt_answer{unknown{closing()}} : std::move(got));
    if (!outage || to->in_time) report_to_breaker(to->server, got);
    to->uncertain = to->uncertain || std::holds_alternative<unknown>(got);
    if (outage) return after_outage(to, std::move(got));
    const bool is_granted = std::holds_alternative<granted>(got);
    const auto [gone, waived] = contenders_.with([&] { return std::pair{c->gone, c->waived}; });
    if (is_granted && gone) {
        // It was released meanwhile, perhaps before the main store saw this attempt.
        undo_in_main(c->key, c->owner, to->asked.lease);
        return end_late(to);
    }
    // An earlier attempt waived the main store, and what that has granted is being undone.
    if (is_granted && waived) return waive(to);
    if (const auto* const held = std::get_if<busy>(&got)) (void)undo_now(c->key, held->holder);
    if (!is_granted) leave_if_look(to);
    answer(to, std::move(got));
}

void fail_open_core::after_outage(const std::shared_ptr<round>& to, attempt_answer&& got) {
    const auto next = boot_clock::now() + with_.how.pause;
    const auto* const no = std::get_if<refused>(&got);
    if (no != nullptr && no->code == errc::closed) return answer(to, std::move(got));
    if (to->tries < with_.how.tries && next + least_share < to->deadline) {
        with_.given.reactor.at(next, [self = shared_from_this(), to] { self->ask_main(to); });
        return;
    }
    if (to->in_time) return waive(to);
    // There was too little time to tell an outage from a slow answer.
    if (to->uncertain) return answer(to, unknown{{make_error_code(errc::unknown_outcome), {}, {}}});
    leave_if_look(to);
    answer(to, std::move(got));
}

// The main store is away: the substitute's lock is enough.
void fail_open_core::waive(const std::shared_ptr<round>& to) {
    const auto& c = to->of;
    if (strength_there_ < to->asked.at_least || to->asked.replicas.at_least > 0) {
        failure why{
            make_error_code(errc::too_weak),
            "without the store, which is away, the lock would be " + std::string{to_string(strength_there_)},
            {}};
        if (to->uncertain) return answer(to, unknown{std::move(why)});  // the caller releases it
        leave_if_look(to);
        return answer(to, refused{std::move(why)});
    }
    bool late = false, to_undo = false;
    contenders_.with([&] {
        late = c->gone || c->rounds != to->number;
        if (late) return;
        to_undo = !c->waived && c->asked;
        if (!std::exchange(c->waived, true)) c->waived_at = boot_clock::now();
    });
    if (late) return end_late(to);
    if (to_undo) undo_in_main(c->key, c->owner, to->asked.lease);
    answer(to, granted{.lease = to->asked.lease, .weaker = strength_there_});
}

// A look leaves nothing behind.
void fail_open_core::leave_if_look(const std::shared_ptr<round>& to) {
    if (to->asked.want == intent::look && contenders_.leave_after(to->of, to->number)) release_there(to->of);
}

void fail_open_core::leave(const contenders::one& c) {
    if (contenders_.leave(c)) release_there(c);
}

void fail_open_core::release_there(const contenders::one& c) {
    if (closed()) return;  // the substitute may be gone, and its locks with it
    substitute_->release({key_there(c->key), c->there, true}, engine::later(boot_clock::now(), look_every),
                         [](const release_answer&) {});
}

}  // namespace holdfast::fallback
