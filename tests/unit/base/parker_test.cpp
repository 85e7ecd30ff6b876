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

TEST(a_parker, waits_until_the_time_it_was_given) {
    parker p;
    const auto until = in(5ms);
    p.park_until(until);
    EXPECT_GE(boot_clock::now(), until);
    EXPECT_FALSE(p.unparked());
    p.park_until(boot_clock::now() - 1h);  // the past is no wait
}

TEST(a_parker, that_was_unparked_before_does_not_wait) {
    parker p;
    p.unpark();
    p.unpark();
    EXPECT_TRUE(p.unparked());
    p.park_until(time_point::max());
    EXPECT_TRUE(p.unparked());
    p.consume();
    EXPECT_FALSE(p.unparked());
}

TEST(a_parker, forgets_nothing_that_comes_after_consume) {
    parker p;
    p.consume();
    p.unpark();
    p.park_until(time_point::max());
    EXPECT_TRUE(p.unparked());
}

TEST(a_parker, is_woken_by_another_thread) {
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

TEST(a_parker, in_poll_is_woken_through_a_descriptor) {
    const auto wake = std::make_shared<const wake_fd>();
    parker p;
    ASSERT_TRUE(p.poll_begin(wake));
    std::thread other{[&] { p.unpark(); }};
    EXPECT_TRUE(readable(wake, 10'000));
    other.join();
    p.poll_end();
    EXPECT_TRUE(p.unparked());
}

TEST(a_parker, that_was_unparked_before_does_not_begin_to_poll) {
    const auto wake = std::make_shared<const wake_fd>();
    parker p;
    p.unpark();
    EXPECT_FALSE(p.poll_begin(wake));
    EXPECT_FALSE(readable(wake, 0));
    EXPECT_TRUE(p.unparked());
}

TEST(a_parker, after_its_poll_is_not_woken_through_the_descriptor_any_more) {
    const auto wake = std::make_shared<const wake_fd>();
    parker p;
    ASSERT_TRUE(p.poll_begin(wake));
    p.poll_end();
    EXPECT_FALSE(p.unparked());
    p.unpark();
    EXPECT_FALSE(readable(wake, 0));
    EXPECT_TRUE(p.unparked());
}

// A connection goes while a thread is inside unpark: what that writes must not reach who has the number next.
TEST(a_parker, keeps_the_descriptors_that_it_polled_open_until_its_own_end) {
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
