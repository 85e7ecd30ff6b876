#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace holdfast::base {
namespace {

// That a step is seen is tested on a process whose clock is set: tests/server/cli_doctor_test.cpp.
TEST(step_watch, sees_no_step_where_there_is_none_however_busy_the_machine) {
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
