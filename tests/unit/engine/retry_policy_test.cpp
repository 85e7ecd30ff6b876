#include "engine/retry_policy.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

// For any pauses and answers, the store carries out no send of a request after it has forgotten the first.
TEST(retry_policy, sends_nothing_that_may_be_carried_out_after_the_store_forgot_the_first_send) {
    for (const milliseconds answer_timeout : {10ms, 2'000ms, 10'000ms, 60'000ms}) {
        for (const milliseconds each_answer_takes : {0ms, 1ms, 700ms, 9'999ms, 59'000ms}) {
            const time_point begin{1h};
            retry_policy sends{answer_timeout};
            auto now = begin;
            auto last = now;
            for (;;) {
                last = now;
                const auto until = sends.on_sent(now);
                EXPECT_LE(until - begin, answer_timeout);
                const auto again = sends.next_send(now + each_answer_takes);
                if (!again) break;
                ASSERT_GT(*again, now);
                ASSERT_LT(*again, until);
                now = *again;
            }
            EXPECT_LT(last + longest_on_its_way, begin + retry_policy::remembered_for(answer_timeout));
        }
    }
}

// The thread that would send it again was stopped meanwhile: the deadline is over, so it is not sent.
TEST(retry_policy, leaves_no_time_for_a_send_that_is_too_late) {
    retry_policy sends{2s};
    const time_point begin{1h};
    (void)sends.on_sent(begin);
    ASSERT_TRUE(sends.next_send(begin + 1s));
    EXPECT_LT(sends.on_sent(begin + 1h), begin + 1h);
}

TEST(undo, is_sent_at_once_after_short_pauses_and_when_the_lease_is_over) {
    EXPECT_EQ(pause_before_undo(0, 30s), 0ms);
    EXPECT_EQ(pause_before_undo(1, 30s), 100ms);
    EXPECT_EQ(pause_before_undo(2, 30s), 1s);
    EXPECT_EQ(pause_before_undo(3, 30s), 30s);
    EXPECT_EQ(pause_before_undo(4, 30s), std::nullopt);
}

TEST(undo, waits_one_minute_at_most_for_a_long_lease) { EXPECT_EQ(pause_before_undo(3, 24h), 1min); }

}  // namespace
}  // namespace holdfast::engine
