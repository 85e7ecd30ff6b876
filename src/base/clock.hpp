// The wall clock, for what is shown to people or made unique. Leases never use it.
#pragma once

#include <chrono>
#include <cstdint>

namespace holdfast::base {

// Microseconds since 1970. May jump.
[[nodiscard]] std::int64_t wall_microseconds() noexcept;

// Detects whether this machine's wall clock is set after the construction. Slewing, as NTP does normally, is
// no step: it moves both of the clocks that are compared.
class step_watch {
  public:
    step_watch() noexcept : before_(offset_now()) {}

    // Returns how far the clock was set, forwards if positive; zero if no step was seen.
    [[nodiscard]] std::chrono::microseconds stepped() const noexcept;

  private:
    // The offset of the wall clock from the clock that cannot be set, and the error from reading one after
    // the other.
    struct reading {
        std::chrono::microseconds offset;
        std::chrono::microseconds error;
    };
    [[nodiscard]] static reading offset_now() noexcept;

    reading before_;
};

}  // namespace holdfast::base
