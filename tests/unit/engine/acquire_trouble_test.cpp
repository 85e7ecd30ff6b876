// Waits that end without the lock: at the deadline, by cancellation, or because the store has a fault.
#include "unit/engine/acquiring.hpp"

namespace holdfast::engine {
namespace {

// --- giving up --------------------------------------------------------------------------------------

TEST_F(acquiring, a_queued_wait_ends_at_its_deadline_and_leaves_the_queue) {
    how.give_up_at = start + 1500ms;
    wait_in_queue_with("t1");
    time_comes();
    store_queues_us("t1");
    EXPECT_EQ(until(), how.give_up_at);
    time_comes();
    EXPECT_EQ(gave_up().why.code, errc::timed_out);
    EXPECT_EQ(gave_up().cleanup, undo::once);
    EXPECT_EQ(gave_up().holder, "somebody");
}

TEST_F(acquiring, a_wait_that_never_queued_leaves_nothing_behind) {
    how.listen = false;
    how.give_up_at = start + 30ms;
    begin();
    store_says_busy();
    ASSERT_TRUE(is_waiting());
    time_comes();
    EXPECT_EQ(gave_up().why.code, errc::timed_out);
    EXPECT_EQ(gave_up().cleanup, undo::none);
}

TEST_F(acquiring, a_wait_with_an_unanswered_attempt_insists_on_its_undo) {
    how.give_up_at = start + 10s;
    wait_in_queue_with("t1");
    time_comes();
    answer_is_lost();
    time_comes();
    store_queues_us("t1");
    while (is_waiting() || is_asking(intent::queue)) {
        if (is_waiting())
            time_comes();
        else
            store_queues_us("t1");
    }
    EXPECT_EQ(gave_up().why.code, errc::timed_out);
    EXPECT_EQ(gave_up().cleanup, undo::insist);
}

TEST_F(acquiring, a_busy_answer_after_the_deadline_ends_the_wait) {
    how.give_up_at = start + 10ms;
    begin();
    later_by(20ms);
    store_says_busy();
    EXPECT_EQ(gave_up().why.code, errc::timed_out);
    EXPECT_EQ(gave_up().cleanup, undo::none);
}

TEST_F(acquiring, a_grant_after_the_deadline_still_counts) {
    how.give_up_at = start + 10ms;
    begin();
    later_by(20ms);
    store_grants();
    EXPECT_TRUE(holds());
}

TEST_F(acquiring, a_missing_watch_does_not_lengthen_a_wait) {
    how.give_up_at = start + 100ms;
    begin();
    store_says_busy();
    ASSERT_TRUE(is_listening());
    EXPECT_EQ(until(), how.give_up_at);
    time_comes();
    EXPECT_EQ(gave_up().why.code, errc::timed_out);
    EXPECT_EQ(gave_up().cleanup, undo::none);
}

TEST_F(acquiring, client_asks_once_even_if_the_watch_used_up_the_time) {
    how.expect_queue = true;
    how.give_up_at = start + 100ms;
    begin();
    time_comes();
    EXPECT_TRUE(is_asking(intent::queue));
}

TEST_F(acquiring, client_polls_while_the_watch_has_not_begun) {
    begin();
    store_says_busy();
    EXPECT_EQ(until(), now + how.poll_gap);
    time_comes();
    EXPECT_TRUE(is_asking(intent::queue));
    store_queues_us("t1");
    EXPECT_EQ(until(), now + how.silent_poll);
    watch_begins();
    store_queues_us("t1");
    EXPECT_EQ(until(), now + how.poll_gap);
}

// --- cancelled --------------------------------------------------------------------------------------

TEST_F(acquiring, cancel_while_asking_undoes_the_pending_attempt) {
    begin();
    caller_cancels();
    EXPECT_EQ(gave_up().why.code, errc::cancelled);
    EXPECT_EQ(gave_up().cleanup, undo::once);
}

TEST_F(acquiring, cancel_while_listening_has_nothing_to_undo) {
    begin();
    store_says_busy();
    caller_cancels();
    EXPECT_EQ(gave_up().why.code, errc::cancelled);
    EXPECT_EQ(gave_up().cleanup, undo::none);
}

TEST_F(acquiring, cancel_while_queueing_or_waiting_leaves_the_queue) {
    begin();
    store_says_busy();
    watch_begins();
    caller_cancels();
    EXPECT_EQ(gave_up().cleanup, undo::once);

    wait_in_queue_with("t1");
    caller_cancels();
    EXPECT_EQ(gave_up().why.code, errc::cancelled);
    EXPECT_EQ(gave_up().cleanup, undo::once);
}

TEST_F(acquiring, cancel_after_a_lost_answer_insists_on_its_undo) {
    begin();
    answer_is_lost();
    ASSERT_TRUE(is_waiting());
    caller_cancels();
    EXPECT_EQ(gave_up().cleanup, undo::insist);
}

// --- trouble ----------------------------------------------------------------------------------------

TEST_F(acquiring, missing_answer_is_retried_and_never_taken_for_no) {
    begin();
    answer_is_lost();
    ASSERT_TRUE(is_waiting());
    EXPECT_LE(until(), now + 20ms);
    time_comes();
    EXPECT_TRUE(is_asking(intent::look));
    answer_is_lost();
    EXPECT_EQ(until(), now + 40ms);  // backs off
}

TEST_F(acquiring, unanswered_try_gives_up_and_insists_on_its_undo) {
    how.once = true;
    begin();
    for (int step = 0; step < 100 && !stopped(); ++step) time_comes();
    EXPECT_EQ(gave_up().why.code, errc::unknown_outcome);
    EXPECT_EQ(gave_up().cleanup, undo::insist);
    EXPECT_LE(now, start + 2 * how.answer_timeout);
}

TEST_F(acquiring, try_fails_at_once_if_the_store_is_unreachable) {
    how.once = true;
    begin();
    store_refuses(errc::unavailable);
    EXPECT_EQ(gave_up().why.code, errc::unavailable);
    EXPECT_EQ(gave_up().why.text, "server text");
    EXPECT_EQ(gave_up().cleanup, undo::none);
}

TEST_F(acquiring, wait_that_begins_in_an_outage_is_granted_after_it) {
    for (const auto why : {errc::unavailable, errc::busy_server}) {
        now = start;
        how.give_up_at = start + 1min;
        begin();
        while (now < start + 50s) {
            store_refuses(why);
            ASSERT_TRUE(is_waiting()) << "longer than the patience, which is for waits without a limit";
            time_comes();
            ASSERT_TRUE(is_asking(intent::look));
        }
        store_grants();
        EXPECT_TRUE(holds());
    }
}

TEST_F(acquiring, wait_that_begins_and_ends_in_an_outage_reports_it) {
    how.give_up_at = start + 1s;
    begin();
    while (is_asking(intent::look)) {
        store_refuses(errc::unavailable);
        if (is_waiting()) time_comes();
    }
    EXPECT_EQ(gave_up().why.code, errc::unavailable);
    EXPECT_EQ(now, how.give_up_at);
}

TEST_F(acquiring, wait_without_a_limit_lasts_for_the_patience_in_an_outage) {
    begin();
    while (is_asking(intent::look)) {
        store_refuses(errc::unavailable);
        if (is_waiting()) time_comes();
    }
    EXPECT_EQ(gave_up().why.code, errc::unavailable);
    EXPECT_GE(now, start + how.patience);
    EXPECT_LE(now, start + how.patience + how.poll_gap);
}

TEST_F(acquiring, unanswered_wait_lasts_for_the_patience_and_insists_on_its_undo) {
    begin();
    for (int step = 0; step < 100 && !stopped(); ++step) time_comes();
    EXPECT_EQ(gave_up().why.code, errc::unknown_outcome);
    EXPECT_EQ(gave_up().cleanup, undo::insist);
    EXPECT_GE(now, start + how.patience);
    EXPECT_LE(now, start + how.patience + 2 * how.answer_timeout);
}

TEST_F(acquiring, queued_waiter_sits_out_an_outage_for_the_patience) {
    wait_in_queue_with("t1");
    const auto outage = now;
    woken();
    while (is_asking(intent::queue)) {
        store_refuses(errc::unavailable);
        if (!is_waiting()) break;
        time_comes();
    }
    EXPECT_EQ(gave_up().why.code, errc::unavailable);
    EXPECT_EQ(gave_up().cleanup, undo::once);
    EXPECT_GE(now, outage + how.patience);
    EXPECT_LE(now, outage + how.patience + how.poll_gap);
}

TEST_F(acquiring, patience_begins_anew_after_each_answer) {
    wait_in_queue_with("t1");
    woken();
    store_refuses(errc::unavailable);
    later_by(9s);
    alarm_rings();
    store_queues_us("t1");
    later_by(9s);
    woken();
    store_refuses(errc::unavailable);
    EXPECT_TRUE(is_waiting());
}

TEST_F(acquiring, misuse_ends_even_a_long_wait) {
    wait_in_queue_with("t1");
    woken();
    store_refuses(errc::no_permission);
    EXPECT_EQ(gave_up().why.code, errc::no_permission);
    EXPECT_EQ(gave_up().cleanup, undo::once);
}

TEST_F(acquiring, store_without_memory_fails_a_new_client_but_not_a_waiter) {
    begin();
    store_refuses(errc::out_of_memory);
    EXPECT_EQ(gave_up().why.code, errc::out_of_memory);

    wait_in_queue_with("t1");
    woken();
    store_refuses(errc::out_of_memory);
    EXPECT_TRUE(is_waiting());
    time_comes();
    store_grants();
    EXPECT_TRUE(holds());
}

TEST_F(acquiring, an_outage_at_the_deadline_is_reported_as_an_outage) {
    how.give_up_at = start + 1s;
    wait_in_queue_with("t1");
    woken();
    while (is_asking(intent::queue)) {
        store_refuses(errc::unavailable);
        if (is_waiting()) time_comes();
    }
    EXPECT_EQ(gave_up().why.code, errc::unavailable);
    EXPECT_EQ(now, how.give_up_at);
}

TEST_F(acquiring, waiter_polls_until_a_temporary_refusal_is_over) {
    how.listen = false;
    begin();
    const auto over = start + 2'500ms;
    store_will_be_able_in(2'500ms);
    while (now < over) {
        ASSERT_TRUE(is_waiting());
        EXPECT_LE(until(), std::min(now + how.poll_gap, over));
        time_comes();
        ASSERT_TRUE(is_asking(intent::look));
        if (now < over) store_will_be_able_in(std::chrono::ceil<milliseconds>(over - now));
    }
    store_grants();
    EXPECT_EQ(granted().deadline, (lease_request{over, how.lease}.deadline(how.margin)))
        << "counted from the last attempt";
}

TEST_F(acquiring, temporary_refusal_is_reported_at_the_deadline_or_to_a_try) {
    how.give_up_at = start + 300ms;
    begin();
    store_will_be_able_in(2s);
    ASSERT_TRUE(is_waiting());
    time_comes();
    EXPECT_EQ(now, how.give_up_at);
    EXPECT_EQ(gave_up().why.code, errc::unavailable);
    EXPECT_EQ(gave_up().why.text, "server text");
    how.give_up_at = time_point::max();
    how.once = true;
    begin();
    store_will_be_able_in(1ms);
    EXPECT_EQ(gave_up().why.code, errc::unavailable);
}

TEST_F(acquiring, temporary_refusal_at_the_deadline_is_not_reported_as_busy) {
    how.give_up_at = start + 500ms;
    begin();
    store_will_be_able_in(400ms);
    ASSERT_TRUE(is_waiting());
    now = start + 3s;  // the machine was busy
    alarm_rings();
    EXPECT_EQ(gave_up().why.code, errc::unavailable);
}

TEST_F(acquiring, waiter_sits_out_an_outage_after_a_temporary_refusal) {
    begin();
    store_will_be_able_in(500ms);
    time_comes();
    store_refuses(errc::unavailable);
    ASSERT_TRUE(is_waiting());
    time_comes();
    store_says_busy();
    EXPECT_TRUE(is_listening());
}

// For example a cluster slot whose move was begun and abandoned.
TEST_F(acquiring, endless_temporary_refusal_is_believed_for_the_patience) {
    begin();
    store_will_be_able_in(50ms);
    while (now - start < how.patience) {
        ASSERT_TRUE(is_waiting());
        time_comes();
        store_will_be_able_in(50ms);
    }
    while (is_waiting() && now - start < 2 * how.patience) {
        time_comes();
        store_will_be_able_in(50ms);
    }
    EXPECT_EQ(gave_up().why.code, errc::unavailable);
    EXPECT_LE(now - start, how.patience + 100ms);
}

TEST_F(acquiring, longer_temporary_refusal_is_believed_anew) {
    begin();
    store_will_be_able_in(50ms);
    later_by(how.patience);
    alarm_rings();
    store_will_be_able_in(3s);
    ASSERT_TRUE(is_waiting());
    later_by(3s);
    alarm_rings();
    store_will_be_able_in(1ms);
    EXPECT_TRUE(is_waiting());
}

TEST_F(acquiring, a_broken_watch_causes_an_attempt_at_once) {
    wait_in_queue_with("t1");
    later_by(5ms);
    watch_breaks();
    EXPECT_TRUE(is_asking(intent::queue));
}

TEST_F(acquiring, a_watch_that_breaks_during_an_attempt_causes_another) {
    wait_in_queue_with("t1");
    woken();
    watch_breaks();
    store_queues_us("t1");
    EXPECT_TRUE(is_asking(intent::queue));
}

TEST_F(acquiring, client_without_the_right_to_listen_polls) {
    begin();
    store_says_busy();
    watch_is_refused();
    EXPECT_TRUE(is_asking(intent::queue));
    for (int i = 0; i < 3; ++i) {
        store_queues_us("t1");
        EXPECT_EQ(until(), now + how.silent_poll);
        time_comes();
        EXPECT_TRUE(is_asking(intent::queue));
    }
}

TEST_F(acquiring, polling_client_never_listens_and_never_queues) {
    how.listen = false;
    begin();
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(is_asking(intent::look));
        store_says_busy();
        EXPECT_EQ(until(), now + how.silent_poll);
        time_comes();
    }
}

}  // namespace
}  // namespace holdfast::engine
