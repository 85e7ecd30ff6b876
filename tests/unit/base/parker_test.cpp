#include "base/parker.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>

#include <thread>

namespace holdfast::base {
namespace {

using namespace std::chrono_literals;
using time_point = boot_clock::time_point;

time_point in(std::chrono::milliseconds d) { return boot_clock::now() + d; }

bool readable(const std::shared_ptr<const wake_fd>& fd, int limit_ms) {
    pollfd p{fd->get(), POLLIN, 0};
    return ::poll(&p, 1, limit_ms) == 1;
}

TEST(parker, waits_until_the_given_time) {
    parker p;
    const auto until = in(5ms);
    p.park_until(until);
    EXPECT_GE(boot_clock::now(), until);
    EXPECT_FALSE(p.unparked());
    p.park_until(boot_clock::now() - 1h);  // a past time does not block
}

TEST(parker, does_not_wait_after_unpark) {
    parker p;
    p.unpark();
    p.unpark();
    EXPECT_TRUE(p.unparked());
    p.park_until(time_point::max());
    EXPECT_TRUE(p.unparked());
    p.consume();
    EXPECT_FALSE(p.unparked());
}

TEST(parker, remembers_an_unpark_after_consume) {
    parker p;
    p.consume();
    p.unpark();
    p.park_until(time_point::max());
    EXPECT_TRUE(p.unparked());
}

TEST(parker, is_woken_by_another_thread) {
    parker p;
    parker answer;
    std::thread other{[&] {
        for (int i = 0; i < 2'000; ++i) {
            p.unpark();
            answer.park_until(time_point::max());
            answer.consume();
        }
    }};
    for (int i = 0; i < 2'000; ++i) {
        p.park_until(time_point::max());
        ASSERT_TRUE(p.unparked());
        p.consume();
        answer.unpark();
    }
    other.join();
}

TEST(parker, is_woken_through_the_descriptor_that_it_polls) {
    const auto wake = std::make_shared<const wake_fd>();
    parker p;
    ASSERT_TRUE(p.poll_begin(wake));
    std::thread other{[&] { p.unpark(); }};
    EXPECT_TRUE(readable(wake, 10'000));
    other.join();
    p.poll_end();
    EXPECT_TRUE(p.unparked());
}

TEST(parker, does_not_begin_to_poll_after_unpark) {
    const auto wake = std::make_shared<const wake_fd>();
    parker p;
    p.unpark();
    EXPECT_FALSE(p.poll_begin(wake));
    EXPECT_FALSE(readable(wake, 0));
    EXPECT_TRUE(p.unparked());
}

TEST(parker, does_not_use_the_descriptor_after_poll_end) {
    const auto wake = std::make_shared<const wake_fd>();
    parker p;
    ASSERT_TRUE(p.poll_begin(wake));
    p.poll_end();
    EXPECT_FALSE(p.unparked());
    p.unpark();
    EXPECT_FALSE(readable(wake, 0));
    EXPECT_TRUE(p.unparked());
}

// A connection may close while a thread is inside unpark; the write must not reach the next user of the
// number.
TEST(parker, keeps_polled_descriptors_open_until_it_is_destroyed) {
    const auto open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
    std::vector<int> polled;
    {
        parker p;
        for (int i = 0; i < 3; ++i) {
            auto wake = std::make_shared<const wake_fd>();
            for (int again = 0; again < 2; ++again) {
                ASSERT_TRUE(p.poll_begin(wake));
                p.poll_end();
            }
            polled.push_back(wake->get());
        }
        for (const int fd : polled) EXPECT_TRUE(open(fd)) << fd;
    }
    for (const int fd : polled) EXPECT_FALSE(open(fd)) << fd;
}

}  // namespace
}  // namespace holdfast::base
