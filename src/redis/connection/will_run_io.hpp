// Says whether the thread that sends a command will read its reply itself.
#pragma once

#include <utility>

namespace holdfast::redis {

// While one exists, this thread promises to `run_io` right after its commands, so the reactor need not read
// their replies. Without it everything works too, but each reply wakes the reactor thread: right for callers
// that never call run_io. Costs nothing; nests.
class will_run_io {
  public:
    will_run_io() noexcept { ++depth(); }
    will_run_io(const will_run_io&) = delete;
    will_run_io& operator=(const will_run_io&) = delete;
    ~will_run_io() { --depth(); }

    [[nodiscard]] static bool here() noexcept { return depth() > 0; }

  private:
    friend class will_not_run_io;
    static int& depth() noexcept {
        static thread_local int n = 0;
        return n;
    }
};

// Suspends an outer will_run_io: for commands to several servers, since a thread can run the I/O of only one.
class will_not_run_io {
  public:
    will_not_run_io() noexcept : outside_(std::exchange(will_run_io::depth(), 0)) {}
    will_not_run_io(const will_not_run_io&) = delete;
    will_not_run_io& operator=(const will_not_run_io&) = delete;
    ~will_not_run_io() { will_run_io::depth() = outside_; }

  private:
    const int outside_;
};

}  // namespace holdfast::redis
