// The background thread of a client: descriptors, timers and small tasks.
#pragma once

#include "base/annotations.hpp"

#include <holdfast/callback.hpp>
#include <holdfast/types.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::io {

using time_point = boot_clock::time_point;

// Names a timer until it has run or was cancelled. A default-constructed one names none.
struct timer_id {
    time_point when{};
    std::uint64_t serial = 0;
};

// Thread-safe. Tasks, timers and descriptor handlers run on its thread, one at a time; they never block and
// never throw. User code never runs here.
// Timers follow CLOCK_BOOTTIME, so they are due right after a suspend. An idle reactor never wakes.
// The thread blocks all signals. Everything that uses a reactor must end before it.
class reactor {
  public:
    using task = callback<void()>;
    using fd_handler = std::function<void(std::uint32_t epoll_events)>;

    // Starts the thread. Throws std::system_error when the system has no descriptor or thread left.
    reactor();
    reactor(const reactor&) = delete;
    reactor& operator=(const reactor&) = delete;
    // Stops and joins the thread; drops what has not run yet. Not from the reactor thread.
    ~reactor();

    // Runs `t` soon, in the order of the posts.
    void post(task t);
    // Runs `t` before it returns. Whatever ran there at the time of the call has ended by then. On the
    // reactor thread: runs it at once.
    void run_and_wait(task t);
    // Runs `t` at `when`, or at once if that is past. time_point::max() means never.
    timer_id at(time_point when, task t);
    // True: it will not run. False: it has run, is running, or was cancelled before.
    bool cancel(const timer_id& id);

    // Calls `h` on events of `fd` (EPOLLIN...). One handler per descriptor. `unwatch` before closing. Once
    // `unwatch` has returned on the reactor thread, the handler does not run; on another thread it may be
    // running.
    void watch(int fd, std::uint32_t events, fd_handler h);
    void modify(int fd, std::uint32_t events);
    void unwatch(int fd);

    [[nodiscard]] bool in_thread() const noexcept { return std::this_thread::get_id() == thread_id_; }

    // For a forked child, where the thread does not exist: the destructor then does nothing. Takes no lock.
    void abandon() noexcept { abandoned_ = true; }

  private:
    struct watched {
        std::uint32_t generation;  // tells events of a descriptor's former use from those of the present one
        std::shared_ptr<fd_handler> handler;
    };

    void run() noexcept;
    void run_posted();
    [[nodiscard]] bool has_posted();
    void run_due_timers();
    void run_handler(std::uint64_t tag, std::uint32_t events);
    void wake() const noexcept;
    void arm() REQUIRES(mutex_);

    int epoll_ = -1;
    int wake_ = -1;   // eventfd
    int timer_ = -1;  // timerfd

    base::mutex mutex_;
    std::vector<task> posted_ GUARDED_BY(mutex_);
    std::map<std::pair<time_point, std::uint64_t>, task> timers_ GUARDED_BY(mutex_);
    std::unordered_map<int, watched> watched_ GUARDED_BY(mutex_);
    std::uint64_t next_serial_ GUARDED_BY(mutex_) = 1;
    std::uint32_t next_generation_ GUARDED_BY(mutex_) = 1;
    time_point armed_for_ GUARDED_BY(mutex_) = time_point::max();
    bool stopping_ GUARDED_BY(mutex_) = false;

    std::atomic<bool> abandoned_{false};
    std::thread::id thread_id_;
    std::unique_ptr<std::thread> thread_;
};

}  // namespace holdfast::io
