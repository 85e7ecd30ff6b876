#include "engine/resend.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

// For any pauses and answers, the store carries out no send of a request after it has forgotten the first.
TEST(resend, is_never_carried_out_after_the_store_forgot_the_first_send) {
    for (const milliseconds answer_timeout : {10ms, 2'000ms, 10'000ms, 60'000ms}) {
        for (const milliseconds each_answer_takes : {0ms, 1ms, 700ms, 9'999ms, 59'000ms}) {
            const time_point begin{1h};
            resend sends{answer_timeout};
            auto now = begin;
            auto last = now;
            for (;;) {
                last = now;
                const auto until = sends.sent(now);
                EXPECT_LE(until - begin, answer_timeout);
                const auto again = sends.again(now + each_answer_takes);
                if (!again) break;
                ASSERT_GT(*again, now);
                ASSERT_LT(*again, until);
                now = *again;
            }
            EXPECT_LT(last + longest_on_its_way, begin + resend::remembered_for(answer_timeout));
        }
    }
}

// The thread that would send it again was stopped meanwhile: the deadline is over, so it is not sent.
TEST(resend, has_no_time_left_if_it_is_too_late) {
    resend sends{2s};
    const time_point begin{1h};
    (void)sends.sent(begin);
    ASSERT_TRUE(sends.again(begin + 1s));
    EXPECT_LT(sends.sent(begin + 1h), begin + 1h);
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
