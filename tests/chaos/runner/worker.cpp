#include "chaos/runner/worker.hpp"

#include <algorithm>
#include <thread>

namespace holdfast::chaos {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// --- process_state
// ----------------------------------------------------------------------------------------------

process_state::process_state(subject_set& all_subjects, std::vector<run_lock> all, resource& guards,
                             std::uint32_t number, std::chrono::milliseconds one_lease,
                             const std::string& only)
    : subjects(all_subjects),
      locks(std::move(all)),
      used(places_of(locks, only)),
      guarded(guards),
      process(number),
      lease(one_lease) {}

void process_state::open(const std::filesystem::path& file) {
    auto book = std::make_unique<recorder>(file);
    const std::lock_guard hold{mutex_};
    recorder_ = std::move(book);
    closing_ = false;
    changed_.notify_all();
}

void process_state::close() {
    std::unique_lock hold{mutex_};
    closing_ = true;
    changed_.wait(hold, [this] { return inside_ == 0; });
}

void process_state::end() {
    const std::lock_guard hold{mutex_};
    closing_ = true;
    ended_ = true;
    changed_.notify_all();
}

bool process_state::enter() {
    std::unique_lock hold{mutex_};
    changed_.wait(hold, [this] { return ended_ || !closing_; });
    if (ended_) return false;
    ++inside_;
    return true;
}

void process_state::leave() {
    const std::lock_guard hold{mutex_};
    --inside_;
    changed_.notify_all();
}

void process_state::write(event e) noexcept {
    e.process = process;
    recorder_->write(e);
}

// --- worker ---------------------------------------------------------------------------------------------

void worker::run() {
    while (state_.enter()) {
        one_operation();
        if (state_.closing()) open_latches();
        state_.leave();
    }
}

void worker::one_operation() {
    const auto lock = state_.used[chance_.below(state_.used.size())];
    if (state_.locks[lock].row.model == model::latch) {
        // Several uses, since each is short: else no lost answer would ever be one of theirs.
        for (auto n = chance_.below(40); n > 0 && !state_.closing(); --n) one_use_of_latch(lock);
        return;
    }
    const auto how = draw_request(state_.locks[lock]);
    std::vector<held> all;
    all.push_back(acquire(lock, how));
    if (!all.front().by) {
        pause(milliseconds{4});
        return;
    }
    if (state_.locks[lock].kind == lock_kind::changing) {
        change_the_lease(lock, all);
    } else {
        work(lock, all.front());
    }
    if (state_.locks[lock].row.model == model::reentrant) {
        while (all.size() < 3 && chance_.percent(30)) nest(lock, all);
    }
    // The last hold to end releases the lock.
    while (!all.empty()) {
        const auto which = chance_.below(all.size());
        release(all[which]);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
        if (!all.empty()) (void)look(all.front());
    }
    pause(milliseconds{2});
}

void worker::one_use_of_latch(std::size_t lock) {
    const auto draw = chance_.below(100);
    const auto amount = [&](std::uint64_t most) {
        return static_cast<std::int64_t>(1 + chance_.below(most));
    };
    // One thread of each process never waits without a limit.
    const bool without_end = thread_ != 0 && chance_.percent(30);
    const auto some = in_ns(chance_.between(milliseconds{0}, milliseconds{400}));
    if (draw < 25)
        (void)use_latch(lock, action::set, amount(12), 0);
    else if (draw < 75)
        (void)use_latch(lock, action::down, amount(2), 0);
    else if (draw < 82)
        (void)use_latch(lock, action::read, 0, 0);
    else if (draw < 85)
        (void)use_latch(lock, action::erase, 0, 0);
    else
        (void)use_latch(lock, action::wait, 0, without_end ? never : some);
    pause(milliseconds{2});
}

countdown::outcome worker::use_latch(std::size_t lock, action what, std::int64_t amount, time_ns wait) {
    event e;
    e.action = what;
    e.lock = static_cast<std::uint16_t>(lock);
    e.thread = thread_;
    e.hold = state_.next_hold();
    e.count = amount;
    e.wait = wait;
    e.phase = phase::invoke;
    e.t = boot_time();
    state_.write(e);
    const auto outcome = state_.subjects.latch_at(lock).use(what, amount, wait);
    e.phase = outcome.what;
    e.count = outcome.count;
    e.error = outcome.error;
    e.t = boot_time();
    state_.write(e);
    return outcome;
}

void worker::open_latches() {
    constexpr std::int64_t more_than_any = 100;
    for (std::size_t lock = 0; lock < state_.locks.size(); ++lock) {
        if (state_.locks[lock].row.model != model::latch) continue;
        const auto how = chance_.percent(50) ? action::erase : action::down;
        while (use_latch(lock, how, how == action::down ? more_than_any : 0, 0).error != 0)
            pause(milliseconds{20});
    }
}

request worker::draw_request(const run_lock& lock) {
    request how;
    if (chance_.percent(35))
        how.wait = 0;
    else if (chance_.percent(60))
        how.wait = in_ns(chance_.between(milliseconds{5}, milliseconds{400}));
    if (lock.row.model == model::shared) how.side = chance_.percent(70) ? side::reader : side::writer;
    if (lock.row.model == model::counted)
        how.permits = static_cast<std::uint32_t>(1 + chance_.below(std::min(2U, lock.row.permits)));
    if (chance_.percent(40)) how.ttl = chance_.between(state_.lease / 2, state_.lease * 2);
    return how;
}

void worker::record(held& h, answer got) {
    auto& e = h.last;
    e.phase = got.what;
    e.error = got.error;
    if (got.held) {
        e.deadline = got.held->deadline();
        e.fence = got.held->fence();
        e.token = got.held->token();
    }
    e.t = boot_time();
    state_.write(e);
    h.by = std::move(got.held);
}

worker::held worker::acquire(std::size_t lock, const request& how) {
    held h;
    auto& e = h.last;
    e.action = action::acquire;
    e.lock = static_cast<std::uint16_t>(lock);
    e.thread = thread_;
    e.hold = state_.next_hold();
    e.side = how.side;
    e.permits = how.permits;
    e.wait = how.wait;
    e.lease = in_ns(std::max(how.ttl.value_or(milliseconds{0}), state_.lease));
    e.phase = phase::invoke;
    e.t = boot_time();
    state_.write(e);
    record(h, state_.subjects.at(lock).acquire(how));
    return h;
}

void worker::nest(std::size_t lock, std::vector<held>& all) {
    held h;
    auto& e = h.last;
    e = all.front().last;
    e.outer = all.back().last.hold;
    e.hold = state_.next_hold();
    e.phase = phase::invoke;
    e.wait = 0;
    e.deadline = 0;
    e.depth = static_cast<std::uint16_t>(all.size() + 1);
    e.t = boot_time();
    state_.write(e);
    record(h, state_.subjects.at(lock).nest(*all.back().by));
    if (!h.by) return;
    if (state_.locks[lock].kind != lock_kind::changing) work(lock, h);
    all.push_back(std::move(h));
}

// The requests of the outer holds are under way, or answered, when the innermost asks for a longer lease.
void worker::change_the_lease(std::size_t lock, std::vector<held>& all) {
    while (all.size() < 3) {
        if (all.size() == 2) std::this_thread::sleep_for(chance_.between(milliseconds{40}, milliseconds{70}));
        const auto before = all.size();
        nest(lock, all);
        if (all.size() == before) return;
    }
    const auto until = boot_time() + in_ns(state_.lease * 3 / 4);
    while (boot_time() < until && !state_.closing() && look(all.back())) pause(milliseconds{10});
}

// Most work is short; some of it takes longer than the lease.
void worker::work(std::size_t lock, const held& one) {
    const auto draw = chance_.below(100);
    const auto longest = draw < 60   ? microseconds{3'000}
                         : draw < 92 ? microseconds{40'000}
                                     : std::chrono::duration_cast<microseconds>(state_.lease * 3 / 2);
    // Some holders do not look before they write: the resource must refuse their late writes.
    const bool careless = chance_.percent(30);
    const auto until =
        boot_time() + in_ns(microseconds{chance_.below(static_cast<std::uint64_t>(longest.count()) + 1)});
    do {
        if (!look(one)) break;
        write(lock, one);
        if (!state_.closing()) pause(std::max(longest / 4, microseconds{500}));
    } while (boot_time() < until && !state_.closing());
    if (!careless) return;
    // A holder that is stopped between its look and its write, by its scheduler or its garbage collector.
    if (chance_.percent(15) && !state_.closing()) pause(state_.lease * 3);
    write(lock, one);
}

bool worker::look(const held& one) {
    const auto before = boot_time();
    if (one.by->valid()) {
        note(one, action::look, phase::ok, before, one.by->deadline());
        return true;
    }
    note(one, action::look, phase::fail, boot_time());
    await_loss_report(one);
    return false;
}

// Counts only the time in which this process runs: it may be stopped meanwhile.
void worker::await_loss_report(const held& one) {
    if (!one.by->loss_reported()) return;
    constexpr int most_looks = 300;
    for (int n = 0; n < most_looks; ++n) {
        if (*one.by->loss_reported()) return;
        std::this_thread::sleep_for(milliseconds{10});
    }
    note(one, action::loss, phase::fail, boot_time());
}

void worker::write(std::size_t lock, const held& one) {
    if (!state_.locks[lock].row.fenced) return;
    note(one, action::write, phase::invoke, boot_time());
    const bool accepted = state_.guarded.write(lock, one.by->fence());
    note(one, action::write, accepted ? phase::ok : phase::fail, boot_time());
}

void worker::release(held& one) {
    (void)look(one);
    note(one, action::release, phase::invoke, boot_time());
    const auto end = one.by->release();
    note(one, action::release, end, boot_time());
}

void worker::pause(microseconds longest) {
    std::this_thread::sleep_for(microseconds{chance_.below(static_cast<std::uint64_t>(longest.count()) + 1)});
}

void worker::note(const held& one, action a, phase p, time_ns t, time_ns deadline) {
    event e = one.last;
    e.action = a;
    e.phase = p;
    e.t = t;
    e.deadline = deadline;
    state_.write(e);
}

}  // namespace holdfast::chaos
