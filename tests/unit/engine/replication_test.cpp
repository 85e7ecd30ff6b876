// Acquisitions that count only when replicas have them.
#include "engine/local_turns.hpp"
#include "unit/engine/acquiring.hpp"

namespace holdfast::engine {
namespace {

TEST_F(acquiring, enough_replicas_and_it_is_held) {
    how.replicas = 2;
    begin();
    store_grants_with_acks(2);
    EXPECT_EQ(granted().acks, 2U);
}

TEST_F(acquiring, with_too_few_replicas_it_is_taken_back) {
    how.replicas = 2;
    begin();
    store_grants_with_acks(1);
    EXPECT_EQ(gave_up().why.code, errc::not_replicated);
    EXPECT_EQ(gave_up().cleanup, undo::once);
    EXPECT_EQ(gave_up().why.text, "1 of 2 replicas have it");
}

TEST_F(acquiring, with_too_few_after_an_unanswered_attempt_it_is_taken_back_until_it_is_gone) {
    how.replicas = 1;
    begin();
    answer_is_lost();
    time_comes();
    store_grants_with_acks(0);
    EXPECT_EQ(gave_up().why.code, errc::not_replicated);
    EXPECT_EQ(gave_up().cleanup, undo::insist);
}

TEST_F(acquiring, nobody_who_asks_for_no_replicas_is_refused_for_their_lack) {
    begin();
    store_grants_with_acks(0);
    EXPECT_TRUE(holds());
}

// Whoever passed the lock on knows nothing of replicas.
TEST_F(acquiring, a_message_with_the_right_ticket_is_only_a_reason_to_ask) {
    how.replicas = 1;
    wait_in_line_with("t1");
    woken_with("t1");
    ASSERT_TRUE(is_asking(intent::queue));
    store_grants_with_acks(1);
    EXPECT_TRUE(holds());
    EXPECT_FALSE(granted().claim);
}

TEST_F(acquiring, nor_does_one_count_that_came_before_its_ticket) {
    how.replicas = 1;
    begin();
    store_says_busy();
    watch_begins();
    woken_with("t1");
    store_queues_us("t1");
    ASSERT_TRUE(is_asking(intent::queue));
}

TEST(terms_of_a_lease, with_other_replicas_are_not_passed_on) {
    const time_point now{1h};
    const shared_grant fresh{now, now + 30s};
    const lease_terms plain{30s, true};
    const lease_terms copied{30s, true, {.at_least = 1}};
    EXPECT_TRUE(may_pass_on(fresh, copied, copied, now + 30s, 16, now));
    EXPECT_FALSE(may_pass_on(fresh, plain, copied, now + 30s, 16, now));
}

}  // namespace
}  // namespace holdfast::engine
