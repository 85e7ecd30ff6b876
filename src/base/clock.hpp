// The wall clock, for things that are shown to people or made unique. Leases never look at it.
#pragma once

#include <chrono>
#include <cstdint>

namespace holdfast::base {

// Microseconds since 1970. May jump.
[[nodiscard]] std::int64_t wall_microseconds() noexcept;

// From its construction on it sees whether somebody sets this machine's wall clock. Slewing, as NTP does it
// when all is well, is no step: it moves both clocks that are compared.
class step_watch {
  public:
    step_watch() noexcept : before_(offset_now()) {}

    // How far it was set, forwards if positive; zero if it was not, as far as can be told.
    [[nodiscard]] std::chrono::microseconds stepped() const noexcept;

  private:
    // The offset of the wall clock to the one that nobody can set, and the error that comes from reading one
    // clock after the other.
    struct reading {
        std::chrono::microseconds offset;
        std::chrono::microseconds error;
    };
    [[nodiscard]] static reading offset_now() noexcept;

    reading before_;
};

}  // namespace holdfast::base
