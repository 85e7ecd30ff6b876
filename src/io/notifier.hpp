// The thread on which the user's callbacks run, so that none of them can hold up a renewal.
// If one runs long, a second thread takes over the queue meanwhile.
#pragma once

#include "base/annotations.hpp"

#include <holdfast/callback.hpp>
#include <holdfast/types.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

namespace holdfast::io {

class reactor;

// Thread-safe. Calls run one after another, but for those that overtake a slow one.
class notifier {
  public:
    using call = callback<void()>;

    // `on_slow` is told on the reactor thread, once for each slow call. No thread is started before the first
    // post.
    notifier(reactor& timers, std::chrono::milliseconds slow_after, std::function<void()> on_slow);
    notifier(const notifier&) = delete;
    notifier& operator=(const notifier&) = delete;
    ~notifier() { stop(); }

    // Runs what is queued and ends. Waits at most a second: a call that never returns keeps its thread and
    // its own state. Nothing is posted afterwards.
    void stop();

    // False if the queue is full (65,536 calls) and the call was dropped.
    bool post(call c);

    // In a forked child: nothing runs, nothing is joined.
    void abandon() noexcept { abandoned_ = true; }

  private:
    static constexpr std::size_t most_queued = 65'536;
    static constexpr std::size_t most_threads = 2;

    // Shared with the threads, so that one stuck in a callback does not need the notifier any more.
    struct shared_state {
        base::mutex mutex;
        std::condition_variable_any changed;
        std::deque<call> queue GUARDED_BY(mutex);
        std::size_t threads GUARDED_BY(mutex) = 0;
        std::size_t busy GUARDED_BY(mutex) = 0;
        std::uint64_t calls_ended GUARDED_BY(mutex) = 0;
        bool stopping GUARDED_BY(mutex) = false;
        bool looking GUARDED_BY(mutex) = false;  // a timer looks for slow calls
    };

    static void run(const std::shared_ptr<shared_state>& s);
    static void start_thread(const std::shared_ptr<shared_state>& s) REQUIRES(s->mutex);
    void look_later(std::uint64_t ended_then);

    reactor& timers_;
    const std::chrono::milliseconds slow_after_;
    const std::function<void()> on_slow_;
    const std::shared_ptr<shared_state> state_ = std::make_shared<shared_state>();
    bool abandoned_ = false;
};

}  // namespace holdfast::io
