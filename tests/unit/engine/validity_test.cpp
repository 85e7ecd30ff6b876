#include "engine/validity.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

constexpr time_point sent{1h};

TEST(validity, counts_from_the_send_less_drift_and_margin) {
    const validity trust{0.01, 2ms};
    EXPECT_EQ(trust.deadline(sent, 10s), sent + 9'900ms - 2ms);
    EXPECT_EQ((validity{0, 0ms}.deadline(sent, 10s)), sent + 10s);
}

TEST(validity, of_a_lease_that_the_margin_eats_is_nothing) {
    const validity trust{0.01, 2ms};
    EXPECT_EQ(trust.deadline(sent, 0ms), sent);
    EXPECT_EQ(trust.deadline(sent, 1ms), sent);
    EXPECT_EQ(trust.deadline(sent, 2ms), sent);
    EXPECT_GT(trust.deadline(sent, 3ms), sent);
    EXPECT_EQ(trust.deadline(sent, milliseconds{-5}), sent);
    EXPECT_EQ(trust.deadline(sent, milliseconds::min()), sent);
}

TEST(validity, of_a_huge_lease_is_the_end_of_time) {
    const validity trust{0.01, 2ms};
    EXPECT_EQ(trust.deadline(sent, milliseconds::max()), time_point::max());
    EXPECT_EQ(
        trust.deadline(time_point{std::chrono::hours{24} * 365 * 100}, std::chrono::hours{24} * 365 * 290),
        time_point::max());
}

TEST(validity, never_exceeds_the_lease) {
    const validity trust{0.01, 2ms};
    for (auto lease = 1ms; lease < 24h; lease = lease * 3 + 1ms)
        EXPECT_LT(trust.deadline(sent, lease), sent + lease);
}

TEST(later, saturates) {
    EXPECT_EQ(later(sent, 1s), sent + 1s);
    EXPECT_EQ(later(sent, boot_clock::duration::max()), time_point::max());
    EXPECT_EQ(later(time_point::max(), 1ns), time_point::max());
}

}  // namespace
}  // namespace holdfast::engine
