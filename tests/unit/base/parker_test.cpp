#include "base/parker.hpp"

#include "support/unique_fd.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/eventfd.h>

#include <thread>

namespace holdfast::backend {
namespace {

using namespace std::chrono_literals;

time_point in(std::chrono::milliseconds d) { return boot_clock::now() + d; }

bool readable(const test::unique_fd& fd, int limit_ms) {
    pollfd p{fd.get(), POLLIN, 0};
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
    const test::unique_fd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    parker p;
    ASSERT_TRUE(p.poll_begin(wake.get()));
    std::thread other{[&] { p.unpark(); }};
    EXPECT_TRUE(readable(wake, 10'000));
    other.join();
    p.poll_end();
    EXPECT_TRUE(p.unparked());
}

TEST(a_parker, that_was_unparked_before_does_not_begin_to_poll) {
    const test::unique_fd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    parker p;
    p.unpark();
    EXPECT_FALSE(p.poll_begin(wake.get()));
    EXPECT_FALSE(readable(wake, 0));
    EXPECT_TRUE(p.unparked());
}

TEST(a_parker, after_its_poll_is_not_woken_through_the_descriptor_any_more) {
    const test::unique_fd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    parker p;
    ASSERT_TRUE(p.poll_begin(wake.get()));
    p.poll_end();
    EXPECT_FALSE(p.unparked());
    p.unpark();
    EXPECT_FALSE(readable(wake, 0));
    EXPECT_TRUE(p.unparked());
}

}  // namespace
}  // namespace holdfast::backend
