#include "cli/run/sweeps.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using reached = descendants::reached;

TEST(SweepsTest, one_empty_sweep_proves_nothing) {
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

TEST(SweepsTest, that_find_only_dead_processes_prove_nothing) {
    sweeps all;
    for (int i = 0; i < 10; ++i) all.add({.reaped = 1});
    EXPECT_FALSE(all.nothing_left());
    all.add({});
    all.add({});
    EXPECT_TRUE(all.nothing_left());
}

TEST(SweepsTest, incomplete_sweeps_prove_nothing) {
    sweeps all;
    for (int i = 0; i < 10; ++i) all.add({.complete = false});
    EXPECT_FALSE(all.nothing_left());
    all.add({});
    all.add({});
    EXPECT_TRUE(all.nothing_left());
}

TEST(SweepsTest, processes_that_refuse_do_not_count_as_left) {
    sweeps all;
    all.add({.refused = 1, .who = 7});
    all.add({.refused = 1, .who = 7});
    EXPECT_TRUE(all.nothing_left());
    EXPECT_EQ(all.refused(), 1);
}

TEST(SweepsTest, become_rare_while_they_meet_the_same_processes) {
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

TEST(SweepsTest, stay_frequent_while_they_meet_new_processes) {
    sweeps all;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        all.add({.signalled = 1, .who = i});
        EXPECT_EQ(all.pause(), 10ms);
    }
    EXPECT_FALSE(all.get_nowhere());
}

}  // namespace
}  // namespace holdfast::cli
