// Descriptors that wake a poll(): from another thread, and at a time.
#pragma once

#include "cli/process/unique_fd.hpp"

#include <holdfast/types.hpp>

namespace holdfast::cli {

// Any thread may call notify(). A thread that polls fd() for POLLIN wakes once, however often it was called.
class wake_event {
  public:
    wake_event();
    void notify() noexcept;
    void clear() noexcept;
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    unique_fd fd_;
};

// Uses the clock that measures leases: poll()'s own timeout does not run while the machine sleeps.
class wake_timer {
  public:
    wake_timer();
    // A time in the past wakes at once, time_point::max() never.
    void set(boot_clock::time_point when) noexcept;
    void clear() noexcept;
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    unique_fd fd_;
};

}  // namespace holdfast::cli
