// Two ways to wake a poll(): by another thread, and at a time.
#pragma once

#include "cli/unique_fd.hpp"

#include <holdfast/types.hpp>

namespace holdfast::cli {

// Any thread may ring. A thread that polls fd() for POLLIN wakes once, however often the bell was rung.
class bell {
  public:
    bell();
    void ring() noexcept;
    void quiet() noexcept;
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    unique_fd fd_;
};

// Uses the clock that measures leases: poll()'s own timeout does not run while the machine sleeps.
class alarm_clock {
  public:
    alarm_clock();
    // A time in the past wakes at once, time_point::max() never.
    void set(boot_clock::time_point when) noexcept;
    void quiet() noexcept;
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    unique_fd fd_;
};

}  // namespace holdfast::cli
