#include "backends/common/work_queue.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <vector>

namespace holdfast::backends {

namespace {

constexpr std::chrono::microseconds shortest_pause{200};
constexpr std::chrono::microseconds longest_pause{5'000};

}  // namespace

bool work_queue::waits_for(std::string_view file) const {
    base::guard lock(mutex_);
    return queues_.find(file) != queues_.end();
}

void work_queue::add(std::string_view file, entry e) {
    {
        base::guard lock(mutex_);
        if (!closed_) {
            const auto [at, is_first] = queues_.try_emplace(std::string{file});
            try {
                if (is_first) {
                    at->second.pause = shortest_pause;
                    go_on_soon(at);
                }
                at->second.all.push_back(std::move(e));
            } catch (const std::bad_alloc&) {
                if (is_first) {
                    reactor_.cancel(at->second.timer);
                    queues_.erase(at);
                }
                throw;
            }
            open_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    }
    (void)e.what({io::time_point::min(), true, e.is_late()});
}

void work_queue::go_on_soon(by_file::iterator at) {
    at->second.timer =
        reactor_.at(boot_clock::now() + at->second.pause, [this, file = at->first] { go_on(file); });
}

void work_queue::go_on(const std::string& file) {
    while (carry_out_first(file)) {
    }
    answer_late_ones(file);
}

// False: there is none, or it must be tried again.
bool work_queue::carry_out_first(const std::string& file) {
    entry first;
    {
        base::guard lock(mutex_);
        const auto at = queues_.find(file);
        if (closed_ || at == queues_.end()) return false;
        first = std::move(at->second.all.front());
    }
    const bool done = first.what({io::time_point::min(), false, first.is_late()}) == outcome::done;
    base::guard lock(mutex_);
    // Only this thread removes queues, and close() after it.
    const auto at = queues_.find(file);
    auto& queue = at->second;
    if (!done) {
        queue.all.front() = std::move(first);
        queue.pause = std::min(2 * queue.pause, longest_pause);
        if (!closed_) go_on_soon(at);
        return false;
    }
    queue.all.pop_front();
    open_.fetch_sub(1, std::memory_order_relaxed);
    queue.pause = shortest_pause;
    if (queue.all.empty()) queues_.erase(at);
    return true;
}

// Of those that wait behind the first.
void work_queue::answer_late_ones(const std::string& file) {
    std::vector<entry> late;
    {
        base::guard lock(mutex_);
        const auto at = queues_.find(file);
        if (closed_ || at == queues_.end()) return;
        auto& all = at->second.all;
        const auto behind = std::stable_partition(std::next(all.begin()), all.end(),
                                                  [](const entry& e) { return !e.is_late(); });
        late.assign(std::move_iterator{behind}, std::move_iterator{all.end()});
        all.erase(behind, all.end());
    }
    for (const auto& e : late) (void)e.what({io::time_point::min(), false, true});
    open_.fetch_sub(late.size(), std::memory_order_relaxed);
}

void work_queue::close() {
    {
        base::guard lock(mutex_);
        closed_ = true;
        for (const auto& [file, queue] : queues_) reactor_.cancel(queue.timer);
    }
    reactor_.run_and_wait([] {});  // go_on() has ended
    by_file left;
    {
        base::guard lock(mutex_);
        left.swap(queues_);
    }
    for (const auto& [file, queue] : left)
        for (const auto& e : queue.all) (void)e.what({io::time_point::min(), true, e.is_late()});
    open_.store(0, std::memory_order_relaxed);
}

}  // namespace holdfast::backends
