// The threads on which the user's callbacks run, so that no callback delays a renewal.
#pragma once

#include "base/annotations.hpp"
#include "base/fork.hpp"

#include <holdfast/callback.hpp>
#include <holdfast/types.hpp>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace holdfast::io {

class reactor;

// A queue of callbacks and the threads that run them. One thread runs them one after another, in the order of
// the posts. With more, a callback that has waited for `slow_after` gets a thread of its own; while all
// threads are busy the next one waits until one of them is done.
//
// Thread-safe. In a forked child all functions do nothing.
class notifier {
  public:
    using call = callback<void()>;

    struct limits {
        std::size_t threads;
        std::size_t queued;  // callbacks that wait
    };

    // Starts the first thread; throws std::system_error if there is none. Calls `on_slow` on the reactor
    // thread, once for each callback that runs longer than `slow_after`. The reactor outlives finish() or
    // stop().
    notifier(reactor& timers, std::chrono::milliseconds slow_after, std::function<void()> on_slow,
             limits most);
    notifier(const notifier&) = delete;
    notifier& operator=(const notifier&) = delete;
    // No further callback starts. Does not wait.
    ~notifier();

    // Returns false if the callback was dropped: the queue is full, or has ended.
    bool post(call c);

    // Accepts nothing more, and returns when all posted callbacks have run, or at `until`. No callback starts
    // afterwards. Does not wait for the callback that it is called from.
    void finish(boot_clock::time_point until);
    // No further callback starts. Waits for those that run, except the one that this is called from and those
    // that themselves wait, in stop(), for that one to end.
    void stop();

  private:
    using time_point = boot_clock::time_point;

    struct waiting {
        call what;
        time_point since;
    };
    struct running {
        time_point since;
        bool slow = false;  // and was reported
    };

    // Shared with the threads, so that one that hangs in a callback no longer needs the notifier.
    struct shared_state {
        shared_state(reactor& r, std::chrono::milliseconds after, std::function<void()> on_slow_call,
                     limits l)
            : timers(r), slow_after(after), on_slow(std::move(on_slow_call)), most(l) {}

        reactor& timers;  // used under the mutex while `closed` is false
        const std::chrono::milliseconds slow_after;
        const std::function<void()> on_slow;
        const limits most;

        base::mutex mutex;
        std::condition_variable_any changed;
        std::deque<waiting> queue GUARDED_BY(mutex);
        std::vector<running*> busy GUARDED_BY(mutex);
        std::size_t threads GUARDED_BY(mutex) = 0;
        std::size_t idle GUARDED_BY(mutex) = 0;  // threads without work
        bool closed GUARDED_BY(mutex) = false;   // no callback is accepted
        bool over GUARDED_BY(mutex) = false;     // no callback starts
        bool looking GUARDED_BY(mutex) = false;  // a timer looks for slow callbacks
    };
    using state_ptr = std::shared_ptr<shared_state>;

    static void start(const state_ptr& s) REQUIRES(s->mutex);
    static bool try_start(const state_ptr& s) noexcept REQUIRES(s->mutex);
    static void run(const state_ptr& s);
    static void look_at(const state_ptr& s, time_point when) REQUIRES(s->mutex);
    static void look(const state_ptr& s);
    [[nodiscard]] std::size_t threads_to_wait_for() const noexcept;
    [[nodiscard]] bool forked() const noexcept { return forked_ != base::fork_generation(); }

    const std::uint64_t forked_ = base::fork_generation();
    const state_ptr state_;
};

}  // namespace holdfast::io
