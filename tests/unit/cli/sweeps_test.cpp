#include "cli/sweeps.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using reached = descendants::reached;

TEST(SweepsTest, one_that_meets_nobody_is_not_believed) {
    sweeps all;
    all.add({.signalled = 1, .who = 7});
    all.add({});
    EXPECT_FALSE(all.nothing_left());
    all.add({.signalled = 1, .who = 8});
    all.add({});
    EXPECT_FALSE(all.nothing_left());
    all.add({});
    EXPECT_TRUE(all.nothing_left());
}

TEST(SweepsTest, those_that_could_not_look_have_not_seen_that_nobody_is_there) {
    sweeps all;
    for (int i = 0; i < 10; ++i) all.add({.complete = false});
    EXPECT_FALSE(all.nothing_left());
    all.add({});
    all.add({});
    EXPECT_TRUE(all.nothing_left());
}

TEST(SweepsTest, nobody_is_left_but_those_that_refuse) {
    sweeps all;
    all.add({.refused = 1, .who = 7});
    all.add({.refused = 1, .who = 7});
    EXPECT_TRUE(all.nothing_left());
    EXPECT_EQ(all.refused(), 1);
}

TEST(SweepsTest, become_rare_when_they_meet_the_same_processes_all_the_time) {
    sweeps all;
    boot_clock::duration passed{};
    int first_second = 0;
    int later = 0;
    while (passed < 1min) {
        all.add({.signalled = 1, .refused = 1, .who = 7});
        passed += all.pause();
        ++(passed <= 1s ? first_second : later);
    }
    EXPECT_GE(first_second, 90);
    EXPECT_LE(later, 70);
    EXPECT_TRUE(all.get_nowhere());
    EXPECT_FALSE(all.nothing_left());
}

TEST(SweepsTest, stay_frequent_while_they_meet_others) {
    sweeps all;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        all.add({.signalled = 1, .who = i});
        EXPECT_EQ(all.pause(), 10ms);
    }
    EXPECT_FALSE(all.get_nowhere());
}

}  // namespace
}  // namespace holdfast::cli
