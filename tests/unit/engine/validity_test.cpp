#include "engine/validity.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

constexpr time_point sent{1h};
constexpr clock_margin margin{0.01, 2ms};

time_point deadline(milliseconds lease, time_point since = sent) {
    return lease_request{since, lease}.deadline(margin);
}

TEST(validity, counts_from_the_send_less_drift_and_margin) {
    EXPECT_EQ(deadline(10s), sent + 9'900ms - 2ms);
    EXPECT_EQ((lease_request{sent, 10s}.deadline({0, 0ms})), sent + 10s);
}

TEST(validity, is_zero_if_the_margin_uses_up_the_lease) {
    EXPECT_EQ(deadline(0ms), sent);
    EXPECT_EQ(deadline(1ms), sent);
    EXPECT_EQ(deadline(2ms), sent);
    EXPECT_GT(deadline(3ms), sent);
    EXPECT_EQ(deadline(milliseconds{-5}), sent);
    EXPECT_EQ(deadline(milliseconds::min()), sent);
}

TEST(validity, saturates_for_a_huge_lease) {
    EXPECT_EQ(deadline(milliseconds::max()), time_point::max());
    constexpr std::chrono::hours year{24 * 365};
    EXPECT_EQ(deadline(year * 290, time_point{year * 100}), time_point::max());
}

TEST(validity, never_exceeds_the_lease) {
    for (auto lease = 1ms; lease < 24h; lease = lease * 3 + 1ms) EXPECT_LT(deadline(lease), sent + lease);
}

TEST(later, saturates) {
    EXPECT_EQ(later(sent, 1s), sent + 1s);
    EXPECT_EQ(later(sent, boot_clock::duration::max()), time_point::max());
    EXPECT_EQ(later(time_point::max(), 1ns), time_point::max());
}

}  // namespace
}  // namespace holdfast::engine
