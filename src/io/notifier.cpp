#include "io/notifier.hpp"

#include "io/reactor.hpp"
#include "io/thread.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <utility>

namespace holdfast::io {

namespace {

thread_local const void* runs_for = nullptr;  // the state whose callbacks this thread runs

// Which notifier waits in stop() for which: a callback may end another one, whose callback ends the first.
class waits {
  public:
    // False if `other` waits for `one` already, perhaps through others: then waiting would be a deadlock.
    // Notifiers that others wait for have one thread each, so each waits for at most one.
    [[nodiscard]] bool begin(const void* one, const void* other) {
        base::guard lock(mutex_);
        for (auto it = for_.find(other); it != for_.end(); it = for_.find(it->second))
            if (it->second == one) return false;
        for_.emplace(one, other);
        return true;
    }
    void end(const void* one, const void* other) {
        base::guard lock(mutex_);
        for (auto [it, last] = for_.equal_range(one); it != last; ++it) {
            if (it->second != other) continue;
            for_.erase(it);
            return;
        }
    }

  private:
    base::mutex mutex_;
    std::multimap<const void*, const void*> for_ GUARDED_BY(mutex_);
};

waits& all_waits() {
    static auto* const all = new waits;  // never destroyed: in use while the last static objects are
    return *all;
}

}  // namespace

notifier::notifier(reactor& timers, std::chrono::milliseconds slow_after, std::function<void()> on_slow,
                   limits most)
    : state_(std::make_shared<shared_state>(timers, slow_after, std::move(on_slow), most)) {
    base::guard lock(state_->mutex);
    state_->busy.reserve(most.threads);
    start(state_);
}

notifier::~notifier() {
    if (forked()) return;
    std::deque<waiting> dropped;
    base::guard lock(state_->mutex);
    state_->closed = state_->over = true;
    dropped.swap(state_->queue);
    state_->changed.notify_all();
    lock.unlock();
}

bool notifier::post(call c) {
    if (forked()) return false;
    base::guard lock(state_->mutex);
    if (state_->closed || state_->queue.size() >= state_->most.queued) return false;
    const auto now = boot_clock::now();
    state_->queue.push_back({std::move(c), now});
    if (state_->idle > 0) state_->changed.notify_one();
    if (!std::exchange(state_->looking, true)) look_at(state_, now + state_->slow_after);
    return true;
}

void notifier::finish(time_point until) {
    if (forked()) return;
    std::deque<waiting> dropped;
    base::guard lock(state_->mutex);
    state_->closed = true;
    // There is no time to find out which callbacks are slow, and those that run may never end: each of their
    // threads gets a substitute. A single thread gets none, to keep the order.
    auto most = state_->most.threads;
    if (most > 1) {
        try {
            state_->busy.reserve(most + state_->busy.size());
            most += state_->busy.size();
        } catch (const std::bad_alloc&) {
        }
    }
    for (auto helped = state_->idle; helped < state_->queue.size() && state_->threads < most; ++helped)
        if (!try_start(state_)) break;
    state_->changed.notify_all();
    while (state_->threads > threads_to_wait_for()) {
        const auto left = until - boot_clock::now();
        if (left <= boot_clock::duration::zero()) break;
        state_->changed.wait_for(state_->mutex, left);
    }
    state_->over = true;
    dropped.swap(state_->queue);
    lock.unlock();
}

void notifier::stop() {
    if (forked()) return;
    std::deque<waiting> dropped;
    base::guard lock(state_->mutex);
    state_->closed = state_->over = true;
    dropped.swap(state_->queue);
    state_->changed.notify_all();
    if (state_->threads > threads_to_wait_for()) {
        const void* const me = runs_for;  // null: not inside a callback
        if (me == nullptr || all_waits().begin(me, state_.get())) {
            while (state_->threads > threads_to_wait_for()) state_->changed.wait(state_->mutex);
            if (me != nullptr) all_waits().end(me, state_.get());
        }
    }
    lock.unlock();
}

std::size_t notifier::threads_to_wait_for() const noexcept { return runs_for == state_.get() ? 1 : 0; }

void notifier::start(const state_ptr& s) {
    start_thread("holdfast-notify", [s] { run(s); });
    ++s->threads;
}

bool notifier::try_start(const state_ptr& s) noexcept try {
    start(s);
    return true;
} catch (const std::exception&) {
    return false;
}

void notifier::run(const state_ptr& s) {
    runs_for = s.get();
    base::guard lock(s->mutex);
    for (;;) {
        // One idle thread is enough.
        if (s->queue.empty() && (s->closed || s->idle > 0)) break;
        if (s->queue.empty()) {
            ++s->idle;
            s->changed.wait(s->mutex);
            --s->idle;
            continue;
        }
        auto next = std::move(s->queue.front().what);
        s->queue.pop_front();
        running me{boot_clock::now()};
        s->busy.push_back(&me);
        lock.unlock();
        try {
            next();
        } catch (...) {
            // event.hpp says that exceptions of callbacks are ignored.
        }
        next = nullptr;
        lock.lock();
        std::erase(s->busy, &me);
    }
    --s->threads;
    s->changed.notify_all();
}

// A timer notices callbacks that do not end; while none run, no timer is set.
void notifier::look_at(const state_ptr& s, time_point when) {
    s->timers.at(when, [s] { look(s); });
}

void notifier::look(const state_ptr& s) {
    std::size_t slow = 0;
    {
        base::guard lock(s->mutex);
        if (s->closed || (s->queue.empty() && s->busy.empty())) {
            s->looking = false;
            return;
        }
        const auto now = boot_clock::now();
        auto next = now + s->slow_after;
        for (auto* const one : s->busy) {
            if (one->slow) continue;
            one->slow = one->since + s->slow_after <= now;
            slow += one->slow ? 1 : 0;
            if (!one->slow) next = std::min(next, one->since + s->slow_after);
        }
        auto helped = s->idle;
        for (const auto& w : s->queue) {
            if (w.since + s->slow_after > now) {
                next = std::min(next, w.since + s->slow_after);
                break;
            }
            if (helped++ < s->idle) continue;
            // If the system has no thread left now, it may have one at the next look.
            if (s->threads >= s->most.threads || !try_start(s)) break;
        }
        look_at(s, next);
    }
    for (; slow > 0; --slow) s->on_slow();
}

}  // namespace holdfast::io
