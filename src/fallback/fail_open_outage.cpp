// What goes on beside the requests: attempts that are undone, the breaker, and the way back to the main
// store.
#include "fallback/fail_open_core.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::fallback {

namespace {

// A lease must be known to its client before anything is told about it.
constexpr milliseconds known_after{100};
constexpr std::size_t most_undone = 256;

}  // namespace

void fail_open_core::remember_undone(const lock_key& key, const owner_id& owner, milliseconds lease) {
    const base::guard lock(mutex_);
    const auto now = boot_clock::now();
    while (!undone_.empty() && (undone_.front().until <= now || undone_.size() >= most_undone))
        undone_.pop_front();
    undone_.push_back({key, owner, now + lease + engine::longest_on_its_way});
}

void fail_open_core::undo_in_main(const lock_key& key, const owner_id& owner, milliseconds lease) {
    remember_undone(key, owner, lease);
    with_.undo(key, owner, lease);
}

// In Redisson's layout a writer is its owner and ":write".
bool fail_open_core::undo_now(const lock_key& key, const std::string& holder) {
    std::optional<undone_owner> found;
    {
        const base::guard lock(mutex_);
        for (const auto& u : undone_) {
            const auto& owner = u.owner.str();
            if (u.key.name == key.name && (holder == owner || holder == owner + ":write")) found = u;
        }
    }
    if (!found) return false;
    with_.given.reactor.post([self = shared_from_this(), was = *found] {
        if (self->closed()) return;
        self->with_.main.release({was.key, was.owner, true}, engine::later(boot_clock::now(), look_every),
                                 [](const release_answer&) {});
    });
    return true;
}

// A caller that wants more than the substitute gives asks the main store in any case.
bool fail_open_core::permitted(const lock_key& key, strength at_least) {
    if (with_.wished->without_store() || with_.wished->breaker() == forced_breaker::open) return false;
    return strength_there_ < at_least || breakers_.permits(with_.main.server_of(key), boot_clock::now());
}

void fail_open_core::report_to_breaker(const std::string& server, const attempt_answer& got) {
    breakers_.report(server, got, boot_clock::now());
}

// --- the way back -----------------------------------------------------------------------------------

void fail_open_core::look_soon() {
    {
        const base::guard lock(mutex_);
        if (std::exchange(looks_, true)) return;
    }
    with_.given.reactor.at(boot_clock::now() + look_every, [self = shared_from_this()] { self->look(); });
}

void fail_open_core::look() {
    {
        const base::guard lock(mutex_);
        looks_ = false;
    }
    if (closed()) return;
    for (const auto& c : contenders_.take_over(boot_clock::now())) release_there(c);
    // One of them finds out whether the main store is back.
    auto waiting = contenders_.to_restore(boot_clock::now() - known_after);
    if (!breakers_.all_are_closed() && waiting.size() > 1) waiting.resize(1);
    for (const auto& c : waiting) restore(c);
    if (contenders_.any()) look_soon();
}

void fail_open_core::main_is_up() {
    with_.given.reactor.post([self = shared_from_this()] {
        if (self->closed()) return;
        self->breakers_.hurry(boot_clock::now());
        for (const auto& c : self->contenders_.to_restore(boot_clock::now() - known_after)) self->restore(c);
    });
}

void fail_open_core::restore(const contenders::one& c) {
    if (with_.wished->without_store()) return;
    const auto now = boot_clock::now();
    const auto as = with_.main.new_owner(c->key.of, 1);
    milliseconds lease{0};
    contenders_.with([&] {
        lease = std::chrono::duration_cast<milliseconds>(c->until - now);
        if (c->gone || c->asks_again || lease <= milliseconds{0}) return lease = milliseconds{0}, void();
        c->restored = as;
        c->asks_again = true;
    });
    if (lease <= milliseconds{0}) return;
    with_.main.attempt({c->key, as, lease}, now + look_every,
                       [self = shared_from_this(), c, as, lease,
                        server = with_.main.server_of(c->key)](attempt_answer answer) {
                           if (!self->closed()) self->report_to_breaker(server, answer);
                           self->on_restored(c, as, lease, std::move(answer));
                       });
}

void fail_open_core::on_restored(const contenders::one& c, const owner_id& as, milliseconds lease,
                                 attempt_answer&& answer) {
    if (closed()) return;
    const auto* const held = std::get_if<busy>(&answer);
    const bool by_nobody = held != nullptr && undo_now(c->key, held->holder);
    const bool is_granted = std::holds_alternative<granted>(answer);
    bool is_new = false;
    contenders_.with([&] {
        c->asks_again = false;
        if (c->gone) return;
        c->is_restored = is_granted;
        is_new = is_granted || (held != nullptr && !held->no_memory && !by_nobody &&
                                (!std::exchange(c->overlaps, true) || with_.how.lost_on_overlap));
        if (is_granted) c->overlaps = false;
    });
    const bool gone = contenders_.with([&] { return c->gone; });
    if (std::holds_alternative<unknown>(answer) || (is_granted && gone)) undo_in_main(c->key, as, lease);
    if (gone || !is_new) return;
    with_.given.notify({.what = is_granted ? notice::change::restored : notice::change::overlap,
                        .detail = is_granted
                                      ? "the store is back, and the lock is held there, too"
                                      : "the store is back, and " + held->holder + " has the lock there",
                        .owner = c->owner,
                        .ends_lease = !is_granted && with_.how.lost_on_overlap});
}

void fail_open_core::on_request_to_give_up(const notice& n) {
    if (n.what != notice::change::evicted) return;
    for (const auto& c : contenders_.all()) {
        if (c->there != n.owner) continue;
        auto asked = n;
        asked.owner = c->owner;
        with_.given.notify(asked);
    }
}

void fail_open_core::close() {
    for (const auto& c : contenders_.all()) leave(c);
    closed_.store(true);
    with_.given.reactor.run_and_wait([] {});  // a task that runs now is over then
    substitute_.reset();
}

}  // namespace holdfast::fallback
