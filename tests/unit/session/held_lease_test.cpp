#include "session/held_lease.hpp"

#include "unit/session/scripted_store.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace holdfast::session {
namespace {

using namespace std::chrono_literals;

class held_lease_test : public ::testing::Test {
  protected:
    static constexpr engine::clock_margin exactly{0, 0ms};
    const time_point now = boot_clock::now();

    [[nodiscard]] std::unique_ptr<held_lease> until(time_point deadline) const {
        return std::make_unique<held_lease>(never_asked(), backend::lock_key{backend::kind::native, "stock"},
                                            owner_id{"me|1"}, engine::lease_terms{30s, true}, fence::none,
                                            deadline, now);
    }
};

TEST_F(held_lease_test, is_valid_until_its_deadline_and_not_at_it) {
    EXPECT_TRUE(until(now + 1h)->valid());
    EXPECT_FALSE(until(now)->valid());
}

TEST_F(held_lease_test, is_lost_at_its_deadline_without_any_report) {
    const auto t = until(now - 1ns);
    EXPECT_FALSE(t->valid());
    EXPECT_EQ(t->state(), lease_state::lost);
}

TEST_F(held_lease_test, is_extended_and_never_shortened) {
    const auto t = until(now + 1h);
    EXPECT_TRUE(t->extend({now, 2h}, exactly, now));
    EXPECT_EQ(t->deadline(), now + 2h);
    EXPECT_TRUE(t->extend({now, 90min}, exactly, now));
    EXPECT_EQ(t->deadline(), now + 2h);
}

// Safety: others may have held the lock in between.
TEST_F(held_lease_test, is_not_revived_once_its_deadline_has_passed) {
    const auto t = until(now + 1s);
    EXPECT_FALSE(t->extend({now, 1h}, exactly, now + 1s));
    EXPECT_EQ(t->deadline(), now + 1s);
}

TEST_F(held_lease_test, is_valid_in_jeopardy_and_can_leave_it) {
    const auto t = until(now + 1h);
    EXPECT_TRUE(t->move_to(lease_state::jeopardy));
    EXPECT_FALSE(t->move_to(lease_state::jeopardy));
    EXPECT_TRUE(t->valid());
    EXPECT_TRUE(t->move_to(lease_state::held));
    EXPECT_EQ(t->state(), lease_state::held);
}

TEST_F(held_lease_test, ends_once) {
    const auto t = until(now + 1h);
    EXPECT_TRUE(t->move_to(lease_state::released));
    EXPECT_FALSE(t->valid());
    EXPECT_FALSE(t->move_to(lease_state::lost));
    EXPECT_FALSE(t->move_to(lease_state::held));
    EXPECT_EQ(t->state(), lease_state::released);
}

TEST_F(held_lease_test, is_ended_by_one_of_many_threads) {
    for (int round = 0; round < 200; ++round) {
        const auto t = until(now + 1h);
        std::atomic<int> ended{0};
        {
            std::vector<std::jthread> threads;
            for (const auto how : {lease_state::lost, lease_state::released, lease_state::lost}) {
                threads.emplace_back([&, how] { ended += t->move_to(how) ? 1 : 0; });
            }
        }
        EXPECT_EQ(ended, 1);
    }
}

TEST(this_thread, has_its_own_mark_that_shows_when_it_has_ended) {
    const auto mine = this_thread();
    EXPECT_TRUE(mine->alive);
    EXPECT_EQ(this_thread(), mine);
    std::shared_ptr<thread_mark> other;
    std::thread{[&] {
        other = this_thread();
        EXPECT_TRUE(other->alive);
    }}.join();
    EXPECT_FALSE(other->alive);
    EXPECT_NE(other->serial, mine->serial);
}

}  // namespace
}  // namespace holdfast::session
