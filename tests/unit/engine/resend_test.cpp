#include "engine/resend.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

TEST(an_undo, is_sent_at_once_after_short_pauses_and_when_the_lease_is_over) {
    EXPECT_EQ(pause_before_undo(0, 30s), 0ms);
    EXPECT_EQ(pause_before_undo(1, 30s), 100ms);
    EXPECT_EQ(pause_before_undo(2, 30s), 1s);
    EXPECT_EQ(pause_before_undo(3, 30s), 30s);
    EXPECT_EQ(pause_before_undo(4, 30s), std::nullopt);
}

TEST(an_undo, of_a_long_lease_is_not_thought_of_for_all_that_time) {
    EXPECT_EQ(pause_before_undo(3, 24h), 1min);
}

}  // namespace
}  // namespace holdfast::engine
