// Work that waits while another process has its turn at a file.
#pragma once

#include "base/annotations.hpp"
#include "io/reactor.hpp"

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <utility>

namespace holdfast::backends {

// A caller's thread waits for a moment, which is nearly always enough: a turn takes some 20 microseconds.
// The reactor tries the rest again, without blocking. A process that was stopped during its turn holds it up
// until its deadline.
//
// Thread-safe.
class work_queue {
  public:
    enum class outcome { done, try_again };
    struct attempt {
        io::time_point wait_until;  // how long it may block
        bool last = false;          // the client ends: it must answer
    };
    using work = std::function<outcome(const attempt&)>;

    explicit work_queue(io::reactor& on) : reactor_(on) {}

    template <class Work>
    void run(Work w) {
        constexpr std::chrono::milliseconds moment{5};
        // Requests of one thread are carried out in their order.
        if (has_work()) return add(std::move(w));
        const auto wait_until = reactor_.in_thread() ? io::time_point::min() : boot_clock::now() + moment;
        if (w(attempt{wait_until}) == outcome::try_again) add(std::move(w));
    }
    [[nodiscard]] bool has_work() const noexcept { return open_.load(std::memory_order_relaxed) != 0; }

    // Attempts all that is left once more, and then no more. Not on the reactor's thread.
    void close();

  private:
    void add(work w);
    void go_on();

    io::reactor& reactor_;
    std::atomic<std::size_t> open_{0};
    base::mutex mutex_;
    std::deque<work> all_ GUARDED_BY(mutex_);
    io::timer_id timer_ GUARDED_BY(mutex_);
    std::chrono::microseconds pause_ GUARDED_BY(mutex_){0};
    bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::backends
