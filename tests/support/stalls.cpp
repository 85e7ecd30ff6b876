#include "support/stalls.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// Longer than a machine without work takes to wake a thread.
constexpr std::chrono::nanoseconds ordinary = 15ms;
constexpr std::size_t most_processors = 64;

std::int64_t now() { return clock::now().time_since_epoch() / 1ns; }

std::int64_t beyond_ordinary(std::int64_t gap) { return std::max<std::int64_t>(gap - ordinary.count(), 0); }

// Of one processor; in nanoseconds.
struct gauge {
    std::atomic<std::int64_t> sum{0};
    std::atomic<std::int64_t> last_look{0};
    std::atomic<std::int64_t> before_this_test{0};

    [[nodiscard]] std::int64_t of_this_test() const {
        // The asking thread may run before the measuring one does.
        return sum - before_this_test + beyond_ordinary(now() - last_look);
    }
};
std::array<gauge, most_processors> gauges;
std::atomic<std::size_t> measured{0};
std::atomic<pid_t> measuring{0};

[[noreturn]] void look_again_and_again(gauge& on) {
    for (;;) {
        std::this_thread::sleep_for(10ms);
        on.sum += beyond_ordinary(now() - on.last_look);
        on.last_look = now();
    }
}

// A thread that is bound to no processor moves to the one that has time, and measures nothing.
void bind_to(std::size_t processor) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    (void)::pthread_setaffinity_np(::pthread_self(), sizeof only, &only);
}

}  // namespace

void measure_stalls() {
    cpu_set_t ours;
    CPU_ZERO(&ours);
    if (::sched_getaffinity(0, sizeof ours, &ours) != 0) CPU_SET(0, &ours);
    measuring = ::getpid();
    for (std::size_t processor = 0; processor < CPU_SETSIZE && measured < most_processors; ++processor) {
        if (!CPU_ISSET(processor, &ours)) continue;
        auto& on = gauges[measured++];
        on.last_look = now();
        std::thread{[&on, processor] {
            bind_to(processor);
            look_again_and_again(on);
        }}.detach();
    }
}

void forget_stalls() {
    for (auto& g : gauges) g.before_this_test = g.sum.load();
}

std::chrono::milliseconds stalls() {
    if (measuring != ::getpid()) return {};
    std::int64_t worst = 0;
    for (std::size_t i = 0; i < measured; ++i) worst = std::max(worst, gauges[i].of_this_test());
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds{worst});
}

}  // namespace holdfast::test
