#include "unit/engine/acquiring.hpp"

namespace holdfast::engine {
namespace {

// --- granted ----------------------------------------------------------------------------------------

TEST_F(acquiring, a_free_lock_is_granted_at_once) {
    begin();
    EXPECT_TRUE(is_asking(intent::look));
    later_by(1ms);
    store_grants(fence{7});
    EXPECT_EQ(granted().deadline, start + 29'700ms - 2ms);  // from the send, less drift and margin
    EXPECT_EQ(granted().fence, fence{7});
    EXPECT_FALSE(granted().claim);
    EXPECT_FALSE(granted().stray);
}

TEST_F(acquiring, client_listens_queues_and_waits_for_a_busy_lock) {
    begin();
    store_says_busy();
    EXPECT_TRUE(is_listening());
    watch_begins();
    EXPECT_TRUE(is_asking(intent::queue));
    store_queues_us("t1");
    EXPECT_TRUE(is_waiting());
    EXPECT_EQ(until(), now + how.poll_gap);
}

TEST_F(acquiring, client_that_expects_a_queue_does_not_look_first) {
    how.expect_queue = true;
    begin();
    EXPECT_TRUE(is_listening());
    watch_begins();
    EXPECT_TRUE(is_asking(intent::queue));
}

TEST_F(acquiring, try_looks_although_a_queue_is_expected) {
    how.expect_queue = true;
    how.once = true;
    begin();
    EXPECT_TRUE(is_asking(intent::look));
}

TEST_F(acquiring, try_ends_at_the_first_busy_answer) {
    how.once = true;
    begin();
    store_says_busy();
    EXPECT_EQ(gave_up().why.code, errc::timed_out);
    EXPECT_EQ(gave_up().cleanup, undo::none);
    EXPECT_EQ(gave_up().holder, "somebody");
}

TEST_F(acquiring, lease_of_a_second_attempt_counts_from_its_own_send) {
    begin();
    answer_is_lost();
    time_comes();
    const auto sent = now;
    later_by(3ms);
    store_grants();
    EXPECT_EQ(granted().deadline, (lease_request{sent, how.lease}.deadline(how.margin)));
    EXPECT_TRUE(granted().stray);
}

TEST_F(acquiring, try_undoes_a_grant_without_any_time_left) {
    how.lease = 100ms;
    how.once = true;
    begin();
    later_by(97ms);
    store_grants();
    EXPECT_EQ(gave_up().why.code, errc::lease_too_short);
    EXPECT_EQ(gave_up().cleanup, undo::once);
}

TEST_F(acquiring, a_waiter_asks_again_after_a_grant_without_any_time_left) {
    how.lease = 100ms;
    how.give_up_at = start + 10s;
    begin();
    later_by(97ms);
    store_grants();
    EXPECT_TRUE(is_waiting());
    time_comes();
    EXPECT_TRUE(is_asking(intent::look));
    later_by(1ms);
    store_grants();
    EXPECT_GT(granted().deadline, now);
}

TEST_F(acquiring, a_waiter_whose_grants_always_come_too_late_gives_up_in_time) {
    how.lease = 100ms;
    how.give_up_at = start + 10s;
    begin();
    while (!stopped()) {
        later_by(97ms);
        store_grants();
        if (!stopped()) time_comes();
    }
    EXPECT_GE(now, how.give_up_at);
    EXPECT_LT(now, how.give_up_at + 1s);
    EXPECT_EQ(gave_up().why.code, errc::lease_too_short);
    EXPECT_EQ(gave_up().cleanup, undo::once);
}

TEST_F(acquiring, wait_without_a_limit_ends_after_late_grants_as_in_an_outage) {
    how.lease = 100ms;
    begin();
    while (!stopped()) {
        later_by(97ms);
        store_grants();
        if (!stopped()) time_comes();
    }
    EXPECT_GE(now, start + how.patience);
    EXPECT_EQ(gave_up().why.code, errc::lease_too_short);
}

TEST_F(acquiring, shorter_lease_from_the_store_shortens_the_deadline) {
    begin();
    store_grants_only(5s);
    EXPECT_EQ(granted().deadline, (lease_request{start, 5s}.deadline(how.margin)));
}

TEST_F(acquiring, longer_lease_from_the_store_does_not_extend_the_deadline) {
    begin();
    store_grants_only(how.lease + 5s);
    EXPECT_EQ(granted().deadline, (lease_request{start, how.lease}.deadline(how.margin)));
}

TEST_F(acquiring, grant_of_no_time_is_not_a_grant) {
    how.once = true;
    begin();
    store_grants_only(0ms);
    EXPECT_EQ(gave_up().why.code, errc::lease_too_short);
    EXPECT_NE(gave_up().cleanup, undo::none);
}

TEST_F(acquiring, a_waiter_asks_again_if_the_members_of_a_redlock_answer_too_late) {
    how.give_up_at = start + 10s;
    begin();
    store_refuses(errc::lease_too_short);
    EXPECT_TRUE(is_waiting());
}

// --- woken ------------------------------------------------------------------------------------------

TEST_F(acquiring, right_ticket_grants_from_the_send_of_the_answered_attempt) {
    begin();
    store_says_busy();
    watch_begins();
    const auto bid_sent = now;
    later_by(2ms);
    store_queues_us("t1");
    later_by(500ms);
    woken_with("t1");
    EXPECT_EQ(granted().deadline, (lease_request{bid_sent, 3s}.deadline(how.margin)));
    EXPECT_TRUE(granted().claim);
}

TEST_F(acquiring, hand_off_for_longer_than_the_lease_counts_as_the_lease) {
    how.lease = 200ms;
    begin();
    store_says_busy();
    watch_begins();
    const auto bid_sent = now;
    store_queues_us("t1");
    later_by(50ms);
    woken_with("t1");
    EXPECT_EQ(granted().deadline, (lease_request{bid_sent, 200ms}.deadline(how.margin)));
}

// Safety: an old wake read after a pause made two holders valid (reference/native-mutex.md).
TEST_F(acquiring, a_wake_with_another_ticket_proves_nothing) {
    wait_in_queue_with("t2");
    const auto planned = until();
    later_by(10ms);
    woken_with("t1");
    EXPECT_TRUE(is_waiting());
    EXPECT_EQ(until(), planned);
    woken_with("t22");
    EXPECT_TRUE(is_waiting());
}

TEST_F(acquiring, a_ticket_that_a_later_attempt_replaced_proves_nothing) {
    wait_in_queue_with("t1");
    time_comes();
    store_queues_us("t2");
    woken_with("t1");
    EXPECT_TRUE(is_waiting());
    woken_with("t2");
    EXPECT_TRUE(granted().claim);
}

TEST_F(acquiring, a_ticket_before_any_answered_attempt_proves_nothing) {
    begin();
    store_says_busy();
    woken_with("t1");
    EXPECT_FALSE(holds());
    watch_begins();
    woken_with("t1");  // remembered, and the answer has another ticket
    store_queues_us("t2");
    EXPECT_TRUE(is_waiting());
}

TEST_F(acquiring, an_early_wake_counts_once_the_attempt_is_answered) {
    begin();
    store_says_busy();
    watch_begins();
    const auto bid_sent = now;
    later_by(1ms);
    woken_with("t1");
    EXPECT_FALSE(holds());
    later_by(1ms);
    store_queues_us("t1");
    EXPECT_EQ(granted().deadline, (lease_request{bid_sent, 3s}.deadline(how.margin)));
    EXPECT_TRUE(granted().claim);
}

TEST_F(acquiring, an_early_wake_of_an_earlier_attempt_does_not_grant_a_later_one) {
    wait_in_queue_with("t1");
    time_comes();
    woken_with("t1");  // while the second attempt is under way
    EXPECT_FALSE(holds());
    store_queues_us("t2");
    EXPECT_TRUE(is_waiting());
}

TEST_F(acquiring, a_wake_after_an_unanswered_attempt_counts_from_the_answered_one) {
    begin();
    store_says_busy();
    watch_begins();
    const auto answered_attempt = now;
    store_queues_us("t1");
    time_comes();
    ASSERT_TRUE(is_asking(intent::queue));
    answer_is_lost();
    ASSERT_TRUE(is_waiting());
    woken_with("t1");
    EXPECT_EQ(granted().deadline, (lease_request{answered_attempt, 3s}.deadline(how.margin)));
    EXPECT_TRUE(granted().stray);
}

TEST_F(acquiring, a_wake_read_too_late_causes_an_attempt) {
    how.poll_gap = 1min;
    wait_in_queue_with("t1");
    later_by(3s);
    woken_with("t1");
    EXPECT_TRUE(is_asking(intent::queue));
}

TEST_F(acquiring, a_wake_that_leaves_almost_no_time_causes_an_attempt) {
    how.poll_gap = 1min;
    wait_in_queue_with("t1");
    later_by(2'900ms);
    woken_with("t1");
    EXPECT_TRUE(is_asking(intent::queue));
}

TEST_F(acquiring, a_wake_without_a_ticket_causes_an_attempt) {
    wait_in_queue_with("t1");
    later_by(3ms);
    woken();
    EXPECT_TRUE(is_asking(intent::queue));
}

TEST_F(acquiring, a_wake_without_a_ticket_during_an_attempt_causes_another) {
    begin();
    store_says_busy();
    watch_begins();
    woken();
    const auto first = asked();
    store_says_busy();
    EXPECT_TRUE(is_asking(intent::queue));
    EXPECT_EQ(asked(), first + 1);
    store_says_busy();
    EXPECT_TRUE(is_waiting());
}

// --- late answers -----------------------------------------------------------------------------------

TEST_F(acquiring, a_late_grant_of_an_abandoned_attempt_is_ignored) {
    wait_in_queue_with("t1");
    time_comes();
    const auto lost = asked();
    nobody_answers();
    time_comes();  // the back-off
    ASSERT_TRUE(is_asking(intent::queue));
    ASSERT_EQ(asked(), lost + 1);
    late_answer(lost, backend::granted{how.lease});
    EXPECT_FALSE(holds());
    store_grants();
    EXPECT_EQ(granted().deadline, (lease_request{now, how.lease}.deadline(how.margin)));
}

TEST_F(acquiring, an_answer_without_a_pending_attempt_is_ignored) {
    wait_in_queue_with("t1");
    const auto planned = until();
    late_answer(asked(), backend::granted{how.lease});
    EXPECT_TRUE(is_waiting());
    EXPECT_EQ(until(), planned);
}

TEST_F(acquiring, an_early_alarm_changes_nothing) {
    wait_in_queue_with("t1");
    const auto planned = until();
    now = planned - 1ns;
    alarm_rings();
    EXPECT_TRUE(is_waiting());
    EXPECT_EQ(until(), planned);
}

// --- how long it waits ---------------------------------------------------------------------------------

TEST_F(acquiring, a_lease_that_ends_before_the_poll_gap_is_polled_at_its_end) {
    begin();
    store_says_busy();
    watch_begins();
    store_says_busy_for(120ms);
    EXPECT_EQ(until(), now + 120ms);
    time_comes();
    store_says_busy_for(5s);
    EXPECT_EQ(until(), now + how.poll_gap);
    time_comes();
    store_says_busy_for(0ms);  // never a loop without a pause
    EXPECT_EQ(until(), now + 1ms);
}

TEST_F(acquiring, a_wake_for_all_delays_the_attempt_less_each_time) {
    how.stagger = 80us;
    begin();
    store_says_busy();
    watch_begins();
    store_says_busy();
    woken();
    EXPECT_EQ(until(), now + 80us);
    time_comes();
    EXPECT_TRUE(is_asking(intent::queue));
    store_says_busy();
    woken();
    EXPECT_EQ(until(), now + 40us);
    later_by(1ms);
    woken();  // a second message does not delay it again
    EXPECT_LE(until(), now);
}

TEST_F(acquiring, a_wake_with_a_ticket_is_not_delayed) {
    how.stagger = 80us;
    begin();
    store_says_busy();
    watch_begins();
    store_queues_us("t1");
    woken_with("t1");
    EXPECT_TRUE(holds());
}

// --- how long the store may keep it -----------------------------------------------------------------

TEST_F(acquiring, store_may_keep_a_handed_off_lock_longer_than_requested) {
    how.lease = 200ms;
    wait_in_queue_with("7");
    woken_with("7");
    EXPECT_LT(granted().deadline, now + 200ms);
    EXPECT_GE(granted().expires_by, now + 3s);
}

TEST_F(acquiring, store_may_keep_the_lock_longer_if_its_answer_says_so) {
    how.lease = 200ms;
    begin();
    late_answer(1, backend::granted{.lease = how.lease, .kept_for = 3s});
    EXPECT_GE(granted().expires_by, now + 3s);
}

TEST_F(acquiring, an_unanswered_attempt_may_reach_the_store_late) {
    begin();
    answer_is_lost();
    time_comes();
    const auto sent = now;
    store_grants();
    EXPECT_GE(granted().expires_by, sent + how.answer_timeout + longest_on_its_way + how.lease);
}

}  // namespace
}  // namespace holdfast::engine
