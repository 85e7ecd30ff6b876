#include "engine/local_queue.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

class local_queue_test : public ::testing::Test {
  protected:
    static constexpr int nobody = 0;
    static constexpr int ann = 1;
    static constexpr int ben = 2;
    static constexpr int cid = 3;
    local_queue<int> queue;
};

TEST_F(local_queue_test, lets_the_first_ask_the_store_and_queues_the_rest) {
    EXPECT_TRUE(queue.enter(ann));
    EXPECT_FALSE(queue.enter(ben));
    EXPECT_FALSE(queue.enter(cid));
    EXPECT_TRUE(queue.may_ask(ann));
    EXPECT_EQ(queue.size(), 3U);
}

TEST_F(local_queue_test, hands_off_in_the_order_of_arrival) {
    (void)queue.enter(ann);
    (void)queue.enter(ben);
    (void)queue.enter(cid);
    EXPECT_EQ(queue.leave(ann), ben);
    EXPECT_EQ(queue.leave(ben), cid);
    EXPECT_EQ(queue.leave(cid), nobody);
    EXPECT_EQ(queue.size(), 0U);
}

TEST_F(local_queue_test, calls_nobody_when_a_queued_thread_gives_up) {
    (void)queue.enter(ann);
    (void)queue.enter(ben);
    (void)queue.enter(cid);
    EXPECT_EQ(queue.leave(ben), nobody);
    EXPECT_TRUE(queue.may_ask(ann));
    EXPECT_EQ(queue.leave(ann), cid);
}

TEST_F(local_queue_test, calls_the_next_when_the_head_gives_up) {
    (void)queue.enter(ann);
    (void)queue.enter(ben);
    EXPECT_EQ(queue.leave(ann), ben);
    EXPECT_TRUE(queue.may_ask(ben));
}

TEST_F(local_queue_test, does_not_queue_a_try) {
    EXPECT_TRUE(queue.try_enter(ann));
    EXPECT_FALSE(queue.try_enter(ben));
    EXPECT_EQ(queue.size(), 1U);
    (void)queue.leave(ann);
    EXPECT_TRUE(queue.try_enter(ben));
}

TEST_F(local_queue_test, lets_a_try_ask_beside_the_queue_if_several_may_hold_the_lock) {
    local_queue<int> shared{queueing::one_asks};
    EXPECT_TRUE(shared.enter(ann));
    EXPECT_FALSE(shared.enter(ben));
    EXPECT_TRUE(shared.try_enter(cid));
    EXPECT_TRUE(shared.may_ask(cid));
    EXPECT_FALSE(shared.may_ask(ben));
    EXPECT_EQ(shared.next(), nobody);  // a release hands off to nobody
    EXPECT_EQ(shared.size(), 3U);
    EXPECT_EQ(shared.leave(cid), nobody);
    EXPECT_EQ(shared.leave(ann), ben);
}

TEST_F(local_queue_test, lets_all_ask_where_there_is_no_queue) {
    local_queue<int> open{queueing::all_ask};
    EXPECT_TRUE(open.enter(ann));
    EXPECT_TRUE(open.enter(ben));
    EXPECT_TRUE(open.try_enter(cid));
    EXPECT_EQ(open.next(), nobody);
    int seen = 0;
    open.each([&](int who) { seen += who; });
    EXPECT_EQ(seen, ann + ben + cid);
    EXPECT_EQ(open.leave(ann), nobody);
    EXPECT_EQ(open.size(), 2U);
}

TEST_F(local_queue_test, ignores_a_second_leave) {
    (void)queue.enter(ann);
    (void)queue.enter(ben);
    (void)queue.leave(ann);
    EXPECT_EQ(queue.leave(ann), nobody);
    EXPECT_TRUE(queue.may_ask(ben));
}

}  // namespace
}  // namespace holdfast::engine
