#include "support/stalls.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include <unistd.h>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// Nanoseconds.
std::atomic<std::int64_t> all{0};
std::atomic<std::int64_t> before_this_test{0};
std::atomic<std::int64_t> looked_at{0};
std::atomic<pid_t> measuring{0};

// Longer than a machine without work takes to wake a thread.
constexpr std::chrono::nanoseconds ordinary = 15ms;

std::int64_t now() { return clock::now().time_since_epoch() / 1ns; }

std::int64_t beyond_ordinary(std::int64_t gap) { return std::max<std::int64_t>(gap - ordinary.count(), 0); }

[[noreturn]] void look_again_and_again() {
    for (;;) {
        std::this_thread::sleep_for(10ms);
        all += beyond_ordinary(now() - looked_at);
        looked_at = now();
    }
}

}  // namespace

void measure_stalls() {
    looked_at = now();
    measuring = ::getpid();
    std::thread{look_again_and_again}.detach();
}

void forget_stalls() { before_this_test = all.load(); }

std::chrono::milliseconds stalls() {
    if (measuring != ::getpid()) return {};
    // The asking thread may run before the measuring one does.
    const std::chrono::nanoseconds sum{all - before_this_test + beyond_ordinary(now() - looked_at)};
    return std::chrono::duration_cast<std::chrono::milliseconds>(sum);
}

}  // namespace holdfast::test
