// Two things that wake a poll(): another thread, and a time.
#pragma once

#include "cli/unique_fd.hpp"

#include <holdfast/types.hpp>

namespace holdfast::cli {

// Any thread rings; the one that polls fd() for POLLIN hears it once, however often it was rung.
class bell {
  public:
    bell();
    void ring() noexcept;
    void quiet() noexcept;
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    unique_fd fd_;
};

// On the clock that leases are measured with: poll()'s own time-out stands still while the machine sleeps.
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
