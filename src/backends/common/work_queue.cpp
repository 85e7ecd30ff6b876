#include "backends/common/work_queue.hpp"

#include <algorithm>

namespace holdfast::backends {

namespace {

constexpr std::chrono::microseconds shortest_pause{200};
constexpr std::chrono::microseconds longest_pause{5'000};

}  // namespace

void work_queue::add(work w) {
    {
        base::guard lock(mutex_);
        if (!closed_) {
            all_.push_back(std::move(w));
            open_.fetch_add(1, std::memory_order_relaxed);
            if (all_.size() > 1) return;  // the timer runs
            pause_ = shortest_pause;
            timer_ = reactor_.at(boot_clock::now() + pause_, [this] { go_on(); });
            return;
        }
    }
    (void)w({io::time_point::min(), true});
}

void work_queue::go_on() {
    while (true) {
        work next;
        {
            base::guard lock(mutex_);
            if (closed_ || all_.empty()) return;
            next = std::move(all_.front());
        }
        const bool done = next({io::time_point::min()}) == outcome::done;
        base::guard lock(mutex_);
        if (done) {
            all_.pop_front();
            open_.fetch_sub(1, std::memory_order_relaxed);
            pause_ = shortest_pause;
            continue;
        }
        all_.front() = std::move(next);
        pause_ = std::min(2 * pause_, longest_pause);
        timer_ = reactor_.at(boot_clock::now() + pause_, [this] { go_on(); });
        return;
    }
}

void work_queue::close() {
    {
        base::guard lock(mutex_);
        closed_ = true;
        reactor_.cancel(timer_);
    }
    reactor_.run_and_wait([] {});  // go_on() has ended
    std::deque<work> left;
    {
        base::guard lock(mutex_);
        left.swap(all_);
    }
    for (const auto& w : left) (void)w({io::time_point::min(), true});
    open_.store(0, std::memory_order_relaxed);
}

}  // namespace holdfast::backends
