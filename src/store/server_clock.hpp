// The clocks of a store's servers, for whom it matters whether two stores agree about the time.
#pragma once

#include "store/requests.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

namespace holdfast::backend {

// A wall clock, measured against boot_clock: a step of this machine's own wall clock between two
// measurements does not matter.
struct clock_reading {
    std::chrono::microseconds ahead{0};  // of boot_clock
    std::chrono::microseconds error{0};  // the true value is not further away
};

// `at`: what the server's clock showed, in microseconds since 1970, at some moment from `sent` to `got`.
[[nodiscard]] inline clock_reading read_between(time_point sent, time_point got, std::int64_t at) {
    using std::chrono::microseconds;
    const auto half = std::chrono::ceil<microseconds>((got - sent) / 2);
    const auto middle = std::chrono::floor<microseconds>((sent + half).time_since_epoch());
    return {microseconds{at} - middle, half + microseconds{1}};
}

// Requests work as in store.hpp.
class server_clock {
  public:
    server_clock() = default;
    server_clock(const server_clock&) = delete;
    server_clock& operator=(const server_clock&) = delete;
    virtual ~server_clock() = default;

    // One reading for each server whose clock makes fences. A failure: not all of them are known.
    virtual void read_clocks(time_point deadline, handler<result<std::vector<clock_reading>>>) = 0;
};

}  // namespace holdfast::backend
