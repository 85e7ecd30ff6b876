#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace holdfast::base {
namespace {

// tests/server/cli_doctor_test.cpp tests that a step is seen, on a process whose clock is set.
TEST(step_watch, reports_no_step_on_a_busy_machine) {
    std::atomic<bool> stop{false};
    std::thread busy{[&] {
        while (!stop) (void)wall_microseconds();
    }};
    for (int i = 0; i < 1'000; ++i) {
        const step_watch watch;
        std::this_thread::yield();
        EXPECT_EQ(watch.stepped().count(), 0);
    }
    stop = true;
    busy.join();
}

}  // namespace
}  // namespace holdfast::base
