#include "backends/joint/skew.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::joint_backend {
namespace {

using namespace std::chrono_literals;

TEST(joint_skew, counts_only_what_the_round_trips_cannot_explain) {
    const auto of = skew_between({{10'000'000us, 300'000us}}, {{11'500'000us, 300'000us}});
    EXPECT_EQ(of.apart, 1'500'000us);
    EXPECT_EQ(of.error, 600'000us);
    EXPECT_FALSE(of.surely_exceeds(1s)) << "it may be 0.9 s";
    EXPECT_TRUE(of.may_exceed(1s));
    EXPECT_TRUE(of.surely_exceeds(800ms));
    EXPECT_FALSE(of.may_exceed(3s));
}

// The servers of a cluster have a clock each.
TEST(joint_skew, is_that_of_the_servers_that_are_furthest_apart) {
    const auto of = skew_between({{0us, 1us}, {-4'000'000us, 1us}, {9'000'000us, 8'900'000us}}, {{0us, 1us}});
    EXPECT_EQ(of.apart, 4'000'000us);
    EXPECT_TRUE(of.surely_exceeds(3s));
}

TEST(joint_skew, is_said_with_its_numbers) {
    EXPECT_EQ(in_words({3'200'000us, 900us}, "A", "B", 1s),
              "the clock of B is 3s200ms ahead of that of A, give or take 1ms, and max_skew is 1s");
    EXPECT_EQ(
        in_words({-3'200'000us, 900us}, "A", "B", 1s).find("the clock of A is 3s200ms ahead of that of B"),
        0U);
}

// The server's clock was read at some moment in between.
TEST(joint_skew, reading_is_in_the_middle_of_the_round_trip) {
    const auto sent = engine::time_point{1h};
    const auto r = backend::read_between(sent, sent + 10ms, 7'000'000);
    EXPECT_EQ(r.ahead, 7s - (1h + 5ms));
    EXPECT_GE(r.error, 5ms);
    EXPECT_LE(r.error, 6ms);
}

}  // namespace
}  // namespace holdfast::joint_backend
