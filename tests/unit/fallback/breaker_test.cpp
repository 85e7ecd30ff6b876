#include "fallback/breaker.hpp"

#include <gtest/gtest.h>

namespace holdfast::fallback {
namespace {

using namespace std::chrono_literals;

class breaker_test : public ::testing::Test {
  protected:
    void fail(int times) {
        for (int i = 0; i < times; ++i) {
            now += 50ms;
            b.failed(now, 0.5);  // a pause without jitter
        }
    }
    [[nodiscard]] bool permits_after(boot_clock::duration pause) {
        now += pause;
        return b.permits(now);
    }

    breaker b;
    time_point now{1h};
};

TEST_F(breaker_test, opens_after_three_failures_in_a_row) {
    fail(2);
    EXPECT_TRUE(b.permits(now));
    fail(1);
    EXPECT_FALSE(b.permits(now));
    EXPECT_EQ(b.now(), breaker::state::open);
}

// Such as all requests of a connection that is lost.
TEST_F(breaker_test, counts_failures_of_one_moment_once) {
    for (int i = 0; i < 10; ++i) b.failed(now, 0.5);
    EXPECT_TRUE(b.permits(now));
}

TEST_F(breaker_test, counts_only_failures_in_a_row) {
    fail(2);
    b.succeeded();
    fail(2);
    EXPECT_TRUE(b.permits(now));
}

TEST_F(breaker_test, counts_only_failures_that_come_within_ten_seconds) {
    fail(2);
    now += 11s;
    fail(2);
    EXPECT_TRUE(b.permits(now));
    fail(1);
    EXPECT_FALSE(b.permits(now));
}

TEST_F(breaker_test, tries_one_request_when_its_pause_is_over) {
    fail(3);
    EXPECT_FALSE(permits_after(4999ms));
    EXPECT_TRUE(permits_after(1ms));
    EXPECT_EQ(b.now(), breaker::state::half_open);
    EXPECT_FALSE(b.permits(now)) << "one at a time";
    b.succeeded();
    EXPECT_TRUE(b.permits(now));
    EXPECT_TRUE(b.permits(now));
}

TEST_F(breaker_test, doubles_its_pause_up_to_a_minute_while_the_requests_fail) {
    fail(3);
    for (const auto pause : {5s, 10s, 20s, 40s, 60s, 60s}) {
        EXPECT_FALSE(permits_after(pause - 1ms));
        EXPECT_TRUE(permits_after(1ms));
        fail(1);
    }
}

TEST_F(breaker_test, begins_anew_with_a_short_pause_after_a_success) {
    fail(3);
    EXPECT_TRUE(permits_after(5s));
    fail(1);
    EXPECT_TRUE(permits_after(10s));
    b.succeeded();
    fail(3);
    EXPECT_TRUE(permits_after(5s));
}

TEST_F(breaker_test, tries_another_request_if_the_one_is_never_answered) {
    fail(3);
    EXPECT_TRUE(permits_after(5s));
    EXPECT_FALSE(permits_after(4999ms));
    EXPECT_TRUE(permits_after(1ms));
}

TEST_F(breaker_test, is_not_moved_by_late_failures_of_earlier_requests) {
    fail(3);
    now += 4s;
    fail(3);
    EXPECT_TRUE(permits_after(1s));
}

TEST_F(breaker_test, tries_at_once_when_the_store_can_be_reached_again) {
    fail(3);
    b.hurry(now);
    EXPECT_TRUE(b.permits(now));
    EXPECT_FALSE(b.permits(now)) << "one at a time";
    fail(1);
    EXPECT_FALSE(b.permits(now));
}

TEST_F(breaker_test, varies_its_pause_by_a_quarter) {
    for (int i = 0; i < 3; ++i) {
        now += 50ms;
        b.failed(now, 0);
    }
    EXPECT_FALSE(permits_after(3749ms));
    EXPECT_TRUE(permits_after(1ms));
}

}  // namespace
}  // namespace holdfast::fallback
