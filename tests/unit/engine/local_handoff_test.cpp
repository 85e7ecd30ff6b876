#include "engine/local_handoff.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

class local_turns : public ::testing::Test {
  protected:
    static constexpr lease_terms usual{30s, true};
    const time_point start{1h};
    shared_grant grant{start, start + 30s};
    time_point deadline = start + 30s;

    [[nodiscard]] bool pass(boot_clock::duration later, lease_terms wanted = usual) const {
        return may_hand_off(grant, usual, wanted, deadline, 16, start + later);
    }
};

TEST_F(local_turns, are_allowed_while_the_grant_is_fresh) {
    EXPECT_TRUE(pass(0s));
    EXPECT_TRUE(pass(9'999us));
    EXPECT_FALSE(pass(10ms));
}

TEST_F(local_turns, are_limited_in_number) {
    grant.turns = 15;
    EXPECT_TRUE(pass(1ms));
    grant.turns = 16;
    EXPECT_FALSE(pass(1ms));
}

TEST_F(local_turns, require_the_same_lease_terms) {
    EXPECT_FALSE(pass(1ms, {10s, true}));
    EXPECT_FALSE(pass(1ms, {30s, false}));
}

TEST_F(local_turns, leave_two_thirds_of_a_short_lease) {
    grant.deadline_then = deadline = start + 12ms;
    EXPECT_TRUE(pass(4ms));
    EXPECT_FALSE(pass(4001us));
}

TEST_F(local_turns, count_the_short_time_of_a_handed_off_lock_as_a_whole_lease) {
    grant.deadline_then = deadline = start + 3s;
    EXPECT_TRUE(pass(5ms));
}

}  // namespace
}  // namespace holdfast::engine
