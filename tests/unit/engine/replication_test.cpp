// Grants that count only when replicas have them.
#include "engine/local_handoff.hpp"
#include "unit/engine/acquiring.hpp"

namespace holdfast::engine {
namespace {

TEST_F(acquiring, a_grant_with_enough_replicas_counts) {
    how.replicas = 2;
    begin();
    store_grants_with_acks(2);
    EXPECT_EQ(granted().acks, 2U);
}

TEST_F(acquiring, a_grant_with_too_few_replicas_is_undone) {
    how.replicas = 2;
    begin();
    store_grants_with_acks(1);
    EXPECT_EQ(gave_up().why.code, errc::not_replicated);
    EXPECT_EQ(gave_up().cleanup, undo::once);
    EXPECT_EQ(gave_up().why.text, "1 of 2 replicas have it");
}

TEST_F(acquiring, undo_of_a_grant_with_too_few_replicas_insists_after_a_lost_answer) {
    how.replicas = 1;
    begin();
    answer_is_lost();
    time_comes();
    store_grants_with_acks(0);
    EXPECT_EQ(gave_up().why.code, errc::not_replicated);
    EXPECT_EQ(gave_up().cleanup, undo::insist);
}

TEST_F(acquiring, a_client_that_wants_no_replicas_needs_none) {
    begin();
    store_grants_with_acks(0);
    EXPECT_TRUE(holds());
}

// The client that handed the lock off knows nothing of replicas.
TEST_F(acquiring, the_right_ticket_only_causes_an_attempt_if_replicas_are_wanted) {
    how.replicas = 1;
    wait_in_queue_with("t1");
    woken_with("t1");
    ASSERT_TRUE(is_asking(intent::queue));
    store_grants_with_acks(1);
    EXPECT_TRUE(holds());
    EXPECT_FALSE(granted().claim);
}

TEST_F(acquiring, an_early_ticket_only_causes_an_attempt_if_replicas_are_wanted) {
    how.replicas = 1;
    begin();
    store_says_busy();
    watch_begins();
    woken_with("t1");
    store_queues_us("t1");
    ASSERT_TRUE(is_asking(intent::queue));
}

TEST(lease_terms, with_other_replicas_allow_no_local_hand_off) {
    const time_point now{1h};
    const shared_grant fresh{now, now + 30s};
    const lease_terms plain{30s, true};
    const lease_terms copied{30s, true, {.at_least = 1}};
    EXPECT_TRUE(may_hand_off(fresh, copied, copied, now + 30s, 16, now));
    EXPECT_FALSE(may_hand_off(fresh, plain, copied, now + 30s, 16, now));
}

}  // namespace
}  // namespace holdfast::engine
