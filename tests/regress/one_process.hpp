// For tests of one process: a store inside it, and a gate that blocks callbacks until it opens.
#pragma once

#include <holdfast/config.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace holdfast::test {

inline config in_this_process() {
    config c;
    c.url = "local:one process";
    return c;
}

// Thread-safe.
class gate {
  public:
    gate() = default;
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;

    // Opens the gate at the end of a test, even of a failed one. Make it after whatever waits for the
    // callback.
    class opened_at_end {
      public:
        explicit opened_at_end(gate& g) : gate_(g) {}
        opened_at_end(const opened_at_end&) = delete;
        opened_at_end& operator=(const opened_at_end&) = delete;
        ~opened_at_end() { gate_.open(); }

      private:
        gate& gate_;
    };

    void wait() {
        std::unique_lock hold{mutex_};
        ++waiting_;
        changed_.notify_all();
        changed_.wait(hold, [&] { return open_; });
        --waiting_;
        changed_.notify_all();
    }
    void open() {
        std::unique_lock hold{mutex_};
        open_ = true;
        changed_.notify_all();
        changed_.wait(hold, [&] { return waiting_ == 0; });
    }
    // Whether this many callers block in wait().
    [[nodiscard]] bool blocks(int callers, std::chrono::milliseconds limit) {
        std::unique_lock hold{mutex_};
        return changed_.wait_for(hold, limit, [&] { return waiting_ >= callers; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int waiting_ = 0;
    bool open_ = false;
};

}  // namespace holdfast::test
