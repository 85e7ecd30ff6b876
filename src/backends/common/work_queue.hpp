// Work that waits while another process has its turn at a file.
#pragma once

#include "base/annotations.hpp"
#include "io/reactor.hpp"

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::backends {

// A caller's thread waits for a moment, which is nearly always enough: a turn takes some 20 microseconds.
// The reactor tries the rest again, without blocking. A process that was stopped during its turn at a file
// holds up the work at that file until its deadlines, and no other.
//
// Thread-safe.
class work_queue {
  public:
    enum class outcome { done, try_again };
    struct attempt {
        io::time_point wait_until;  // how long it may block
        bool last = false;          // the client ends: it must answer
        bool late = false;          // its deadline has passed while it waited: it must answer
    };
    using work = std::function<outcome(const attempt&)>;

    explicit work_queue(io::reactor& on) : reactor_(on) {}

    // Work at one file is carried out in its order, except that nothing waits beyond its deadline. Throws
    // std::bad_alloc: then `w` has not done it, and is not called again.
    template <class Work>
    void run(std::string_view file, io::time_point deadline, Work w) {
        constexpr std::chrono::milliseconds moment{5};
        if (has_work() && waits_for(file)) return add(file, {deadline, std::move(w)});
        const auto wait_until = reactor_.in_thread() ? io::time_point::min() : boot_clock::now() + moment;
        if (w(attempt{wait_until}) == outcome::try_again) add(file, {deadline, std::move(w)});
    }
    [[nodiscard]] bool has_work() const noexcept { return open_.load(std::memory_order_relaxed) != 0; }

    // Attempts all that is left once more, and then no more. Not on the reactor's thread.
    void close();

  private:
    struct entry {
        io::time_point deadline;
        work what;

        [[nodiscard]] bool is_late() const { return boot_clock::now() >= deadline; }
    };
    struct file_queue {
        std::deque<entry> all;
        io::timer_id timer{};
        std::chrono::microseconds pause{0};
    };
    using by_file = std::map<std::string, file_queue, std::less<>>;

    [[nodiscard]] bool waits_for(std::string_view file) const;
    void add(std::string_view file, entry e);
    void go_on_soon(by_file::iterator at) REQUIRES(mutex_);
    void go_on(const std::string& file);
    [[nodiscard]] bool carry_out_first(const std::string& file);
    void answer_late_ones(const std::string& file);

    io::reactor& reactor_;
    std::atomic<std::size_t> open_{0};
    mutable base::mutex mutex_;
    by_file queues_ GUARDED_BY(mutex_);  // none of them is empty
    bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::backends
