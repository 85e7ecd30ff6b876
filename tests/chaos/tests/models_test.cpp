// Examples of what each rule finds.
#include "chaos/checker/judge.hpp"
#include "chaos/tests/latch_histories.hpp"
#include "chaos/tests/random_history.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

namespace holdfast::chaos {
namespace {

attempt holding(std::uint64_t id, time_ns from, time_ns to, std::uint32_t process = 1) {
    attempt a;
    a.id = id;
    a.process = process;
    a.asked = from - 1;
    a.answered = from;
    a.answer = phase::ok;
    a.believed = to + 100;
    a.release_begun = to;
    a.release_answered = to + 1;
    a.release = phase::ok;
    return a;
}

attempt refused(std::uint64_t id, time_ns from, time_ns to, std::uint32_t process = 1) {
    attempt a;
    a.id = id;
    a.process = process;
    a.asked = from;
    a.answered = to;
    a.answer = phase::busy;
    a.wait = 0;
    return a;
}

std::vector<std::string> rules(const violations& found) {
    std::vector<std::string> names;
    for (const auto& v : found) names.emplace_back(v.rule);
    return names;
}
using names = std::vector<std::string>;

TEST(firm_part, ends_at_the_latest_deadline_that_the_holder_knows) {
    auto late = holding(1, 10, 500);
    late.believed = 40;
    EXPECT_TRUE(check_exclusive(std::vector{late, holding(2, 45, 60)}).empty());
    EXPECT_EQ(rules(check_exclusive(std::vector{late, holding(2, 35, 60)})), names{"two_holders"});
}

TEST(firm_part, of_a_killed_holder_lasts_until_its_lease_ends) {
    auto killed = holding(1, 10, 50);
    killed.release_begun = killed.release_answered = never;
    killed.believed = 100;
    EXPECT_EQ(rules(check_exclusive(std::vector{killed, holding(2, 90, 95)})), names{"two_holders"});
    EXPECT_TRUE(check_exclusive(std::vector{killed, holding(2, 100, 110)}).empty());
}

TEST(firm_part, extends_to_a_later_look_that_found_the_lease_valid) {
    std::vector<event> events = events_of({holding(1, 10, 500), holding(2, 45, 60)});
    for (auto& e : events) e.deadline = e.deadline == 0 ? 0 : 30;  // what the first was promised
    events.front().deadline = 30;
    EXPECT_TRUE(check_exclusive(attempts_of(events)).empty());
    event look = events.front();
    look.action = action::look;
    look.phase = phase::ok;
    look.deadline = 0;
    look.t = 50;
    events.push_back(look);
    std::stable_sort(events.begin(), events.end(), [](const event& a, const event& b) { return a.t < b.t; });
    EXPECT_EQ(rules(check_exclusive(attempts_of(events))), names{"two_holders"});
}

TEST(loss, before_the_deadline_is_a_violation) {
    auto events = events_of({holding(1, 10, 50)});
    EXPECT_TRUE(check_losses(attempts_of(events)).empty());
    events.back().phase = phase::fail;  // released: not held, though the deadline is at 150
    EXPECT_EQ(rules(check_losses(attempts_of(events))), names{"silent_loss"});
    events.back().t = 200;
    EXPECT_TRUE(check_losses(attempts_of(events)).empty());
}

TEST(loss, that_lost_does_not_report_is_a_violation) {
    auto events = events_of({holding(1, 10, 50)});
    EXPECT_TRUE(check_loss_reports(attempts_of(events)).empty());
    event unreported = events.front();
    unreported.action = action::loss;
    unreported.phase = phase::fail;
    unreported.t = 60;
    events.push_back(unreported);
    EXPECT_EQ(rules(check_loss_reports(attempts_of(events))), names{"unreported"});
    EXPECT_EQ(judge({{{"lock"}}, events, {}, {}}).back().rule, "unreported");
}

// The published history of etcd's locks has no two holders that overlap; its holds ended without notice.
TEST(loss, is_found_although_no_two_holds_overlap) {
    auto events = events_of({holding(1, 10, 50), holding(2, 60, 90, 2)});
    for (auto& e : events) {
        if (e.action == action::release && e.phase == phase::ok) e.phase = phase::fail;
    }
    history h;
    h.locks = {{"it"}};
    h.events = events;
    EXPECT_EQ(rules(judge(h)), (names{"silent_loss", "silent_loss"}));
}

// The key of the lock was deleted at 20.
class deleted_key : public ::testing::Test {
  protected:
    static history with(const std::vector<attempt>& attempts) {
        history h;
        h.locks = {{"it"}};
        h.events = events_of(attempts);
        h.faults = {{20, 21, "deleted", 0, 0}};
        return h;
    }
};

TEST_F(deleted_key, voids_the_promises_to_its_holder_only) {
    auto h = with({holding(1, 10, 50), holding(2, 30, 60, 2)});
    EXPECT_TRUE(judge(h).empty());
    h.faults[0].struck = -1;
    EXPECT_EQ(rules(judge(h)), names{"two_holders"});
    EXPECT_EQ(rules(judge(with({holding(1, 10, 50), holding(2, 30, 60, 2), holding(3, 40, 70, 3)}))),
              names{"two_holders"});
    auto lost = with({holding(1, 10, 50)});
    for (auto& e : lost.events) {
        if (e.action == action::release && e.phase == phase::ok) e.phase = phase::fail;
    }
    EXPECT_TRUE(judge(lost).empty());
}

TEST_F(deleted_key, voids_a_lease_that_passed_to_another_thread) {
    const auto other = holding(2, 30, 60, 2);
    auto next = holding(3, 51, 70);
    EXPECT_EQ(rules(judge(with({holding(1, 10, 50), other, next}))), names{"two_holders"});
    next.believed = 140;  // not beyond what the first was promised: it may be the same lease
    EXPECT_TRUE(judge(with({holding(1, 10, 50), other, next})).empty());
}

TEST_F(deleted_key, must_not_be_renewed) {
    auto h = with({holding(1, 10, 50)});
    event look = h.events[1];
    look.action = action::look;
    look.t = 40;
    look.deadline = 300;
    h.events.insert(h.events.begin() + 2, look);
    EXPECT_EQ(rules(judge(h)), names{"revived"});
    h.events.front().lease = 300;  // a renewal that was on its way
    EXPECT_TRUE(judge(h).empty());
    h.events.front().lease = 0;
    h.events[2].t = 15;  // seen before the deletion
    EXPECT_TRUE(judge(h).empty());
}

TEST(eviction, ends_a_lease_by_the_time_it_reported) {
    auto believer = holding(1, 10, 500);
    believer.token = 7;
    event look;
    look.action = action::look;
    look.phase = phase::ok;
    look.hold = 1;
    look.t = 40;
    const auto found_by = [&](time_ns to, bool gave_up, time_ns may_go_on, std::uint64_t token = 7) {
        std::vector<attempt> all{believer};
        const fault evicted{
            .from = 20, .to = to, .what = "evicted", .evicted = {{token, gave_up, may_go_on}}};
        return rules(check_evictions(all, std::vector{look}, std::vector{evicted}));
    };
    EXPECT_EQ(found_by(30, true, never), names{"evicted_believes"});
    EXPECT_EQ(found_by(45, true, never), names{}) << "it looked before the eviction reported";
    EXPECT_EQ(found_by(30, false, 5), names{"evicted_believes"});
    EXPECT_EQ(found_by(30, false, 15), names{});
    EXPECT_EQ(found_by(30, true, never, 8), names{}) << "another holder";
}

TEST(eviction, ends_a_hold_that_began_later_inside_an_evicted_one) {
    auto outer = holding(1, 10, 35);
    outer.token = 7;
    auto inner = holding(2, 40, 300);
    inner.token = 7;
    inner.outer = 1;
    inner.lost = 60;
    std::vector<attempt> all{outer, inner};
    const fault evicted{.from = 20, .to = 30, .what = "evicted", .evicted = {{7, false, 100}}};
    EXPECT_TRUE(check_evictions(all, {}, std::vector{evicted}).empty());
    EXPECT_EQ(all[1].lost, never) << "it is told why";
    all[1].outer = 0;
    all[1].lost = 60;
    EXPECT_TRUE(check_evictions(all, {}, std::vector{evicted}).empty());
    EXPECT_EQ(all[1].lost, 60) << "another lease";
}

TEST(eviction, ends_no_lease_that_was_granted_after_it) {
    // It waited from 10 on; the eviction took a hand-over from it of which it had not heard.
    auto again = holding(1, 60, 500);
    again.asked = 10;
    again.token = 7;
    event look;
    look.action = action::look;
    look.phase = phase::ok;
    look.hold = 1;
    look.t = 90;
    const fault evicted{.from = 20, .to = 30, .what = "evicted", .evicted = {{7, true}}};
    const auto found_if = [&](time_ns granted_from) {
        again.granted_from = granted_from;
        std::vector<attempt> all{again};
        return rules(check_evictions(all, std::vector{look}, std::vector{evicted}));
    };
    EXPECT_EQ(found_if(35), names{});
    EXPECT_EQ(found_if(25), names{"evicted_believes"});
}

TEST(eviction, leaves_no_firm_part_to_a_hold_not_yet_answered) {
    auto late = holding(2, 60, 90, 2);
    late.asked = 45;
    late.token = 7;
    std::vector<attempt> all{holding(1, 10, 50), late};
    // The eviction began while the first holder had the lock, and removed the second.
    const fault evicted{.from = 48, .to = 70, .what = "evicted", .evicted = {{7, false, 100}}};
    EXPECT_TRUE(check_evictions(all, {}, std::vector{evicted}).empty());
    EXPECT_TRUE(check_exclusive(all).empty());
}

TEST_F(deleted_key, leaves_no_firm_part_to_a_hold_not_yet_answered) {
    auto late = holding(2, 60, 90, 2);
    late.asked = 45;
    std::vector<attempt> all{holding(1, 10, 49), late};
    const span_of_time when{47, 62};
    EXPECT_TRUE(check_strikes(all, {}, std::vector{when}).empty());
    all.front().believed = 49;  // it looked, and the lease was still valid
    EXPECT_TRUE(check_exclusive(all).empty());
}

TEST(lock_without_replicas, is_judged_by_its_fences_alone) {
    history h;
    h.locks = {{"it", model::exclusive, false, 1, false, true}};
    h.events = events_of({holding(1, 10, 50), holding(2, 30, 60, 2)});
    EXPECT_TRUE(judge(h).empty());
    EXPECT_EQ(count_unpromised(h), 1U);
    h.locks[0].fenced = true;
    EXPECT_FALSE(judge(h).empty());
}

TEST(refusal, is_spurious_if_nobody_had_the_lock) {
    const lock_row lock{"it"};
    const std::vector<attempt> history{holding(1, 10, 50), refused(2, 60, 65, 2)};
    EXPECT_EQ(rules(check_refusals(history, lock, {})), names{"spurious_no"});
    EXPECT_TRUE(
        check_refusals(history, lock, {{.from = 55, .to = 62, .what = "flock", .foreign = true}}).empty());
    // The holder was about to release it.
    EXPECT_TRUE(check_refusals(std::vector{holding(1, 10, 50), refused(2, 51, 65, 2)}, lock, {}).empty());
    // The fault may have left something behind.
    EXPECT_TRUE(check_refusals(history, lock, {{20, 30, "a fault", 0}}).empty());
    EXPECT_FALSE(check_refusals(history, lock, {{70, 80, "a later fault", 0}}).empty());
}

TEST(refusal, may_be_due_to_a_dead_waiter_that_stays_in_the_queue) {
    history h;
    h.locks = {{"fair", model::reentrant}};
    h.events = events_of({holding(1, 10, 50), refused(2, 60, 65, 2)});
    EXPECT_EQ(rules(judge(h)), names{"spurious_no"});
    h.locks[0].dead_stay_in_queue = true;
    EXPECT_TRUE(judge(h).empty());
}

TEST(refusal, may_be_due_to_a_nested_hold_that_is_released_last) {
    history h;
    h.locks = {{"it", model::reentrant}};
    auto inner = holding(2, 20, 100);
    inner.outer = 1;
    inner.depth = 2;
    h.events = events_of({holding(1, 10, 50), inner, refused(3, 60, 65, 2)});
    EXPECT_TRUE(judge(h).empty());
    h.events = events_of({holding(1, 10, 50), inner, refused(3, 110, 115, 2)});
    EXPECT_EQ(rules(judge(h)), names{"spurious_no"});
}

// "One asks for all": a try beside another thread of its client that is just asking is refused without the
// store.
TEST(refusal, may_be_due_to_another_thread_of_the_same_client) {
    const lock_row lock{"it"};
    EXPECT_TRUE(check_refusals(std::vector{refused(1, 10, 50, 1), refused(2, 30, 31, 1)}, lock, {}).empty());
    EXPECT_EQ(check_refusals(std::vector{refused(1, 10, 50, 1), refused(2, 30, 31, 2)}, lock, {}).size(), 2U);
}

TEST(refusal, by_votes_may_be_due_to_a_rival_with_some_of_the_votes) {
    lock_row lock{"it"};
    lock.by_votes = true;
    presence how;
    how.undone_after = 5;
    const auto found_by = [&](std::vector<attempt> history) {
        return check_refusals(history, lock, {}, how).size();
    };
    EXPECT_EQ(found_by({refused(1, 10, 50, 1), refused(2, 30, 31, 2)}), 0U);
    // Votes that are too few, or more than needed, are released after the answer.
    EXPECT_EQ(found_by({refused(1, 10, 26, 1), refused(2, 30, 31, 2)}), 1U);
    EXPECT_EQ(found_by({holding(1, 10, 26), refused(2, 30, 31, 2)}), 0U);
    EXPECT_EQ(found_by({refused(1, 10, 24, 1), refused(2, 30, 31, 2)}), 2U);
    EXPECT_EQ(found_by({holding(1, 10, 23), refused(2, 30, 31, 2)}), 1U);
}

TEST(refusal, of_a_reader_is_right_only_if_there_may_be_a_writer) {
    const lock_row lock{"it", model::shared};
    auto other = holding(1, 10, 50);
    auto no = refused(2, 20, 30, 2);
    no.side = side::reader;
    other.side = side::reader;
    EXPECT_EQ(rules(check_refusals(std::vector{other, no}, lock, {})), names{"spurious_no"});
    other.side = side::writer;
    EXPECT_TRUE(check_refusals(std::vector{other, no}, lock, {}).empty());
}

TEST(refusal, of_permits_is_right_only_if_too_few_were_free) {
    const lock_row lock{"it", model::counted, false, 3};
    auto other = holding(1, 10, 50);
    auto no = refused(2, 20, 30, 2);
    EXPECT_EQ(rules(check_refusals(std::vector{other, no}, lock, {})), names{"spurious_no"});
    no.permits = 3;
    EXPECT_TRUE(check_refusals(std::vector{other, no}, lock, {}).empty());
}

TEST(waiter, must_be_served_in_a_time_of_calm) {
    auto waiting = holding(1, 500, 600);
    waiting.asked = 10;
    const std::vector<span_of_time> calm{{100, 1000}};
    EXPECT_TRUE(check_liveness(std::vector{waiting}, calm, 400).empty());
    EXPECT_EQ(rules(check_liveness(std::vector{waiting}, calm, 399)), names{"not_served"});
    // The calm was too short to say.
    EXPECT_TRUE(check_liveness(std::vector{waiting}, {{100, 450}}, 399).empty());
    waiting.answered = never;
    waiting.answer = phase::none;
    EXPECT_EQ(rules(check_liveness(std::vector{waiting}, calm, 399)), names{"not_served"});
    // A waiter with a limit gives up by itself.
    waiting.wait = 50;
    EXPECT_TRUE(check_liveness(std::vector{waiting}, calm, 399).empty());
}

TEST(waiter, of_a_killed_client_need_not_be_served) {
    history h;
    h.locks = {{"it"}};
    attempt waiting;
    waiting.id = 1;
    waiting.process = 7;
    waiting.asked = 10;
    h.events = events_of({waiting});
    h.calm = {{100, 1000}};
    judgement_settings how;
    how.served_within = 100;
    EXPECT_EQ(rules(judge(h, how)), names{"not_served"});
    h.faults = {{50, 60, "killed", 7}};
    EXPECT_TRUE(judge(h, how).empty());
}

latch_use used(std::uint64_t id, action what, std::int64_t amount, time_ns from, time_ns to,
               std::int64_t reported = 0) {
    latch_use u;
    u.id = id;
    u.what = what;
    u.amount = amount;
    u.asked = from;
    u.answered = to;
    u.answer = phase::ok;
    u.reported = reported;
    return u;
}
latch_use unanswered(std::uint64_t id, action what, std::int64_t amount, time_ns from) {
    auto u = used(id, what, amount, from, never);
    u.answer = phase::none;
    return u;
}
names rules_of_latch(const std::vector<latch_use>& uses, const std::vector<span_of_time>& forgetting = {}) {
    return rules(check_counts(uses, forgetting));
}

TEST(latch, lets_a_waiter_through_only_while_the_count_is_zero) {
    const auto set = used(1, action::set, 2, 10, 20);
    const auto down = used(2, action::down, 2, 50, 60, 0);
    const auto wait = [](time_ns from, time_ns to) { return used(3, action::wait, 0, from, to); };
    EXPECT_EQ(rules_of_latch({set, wait(21, 49), down}), names{"through_early"});
    EXPECT_EQ(rules_of_latch({set, down, used(4, action::set, 1, 61, 70), wait(71, 80)}),
              names{"through_early"});
    EXPECT_TRUE(rules_of_latch({set, wait(21, 50), down}).empty());  // perhaps just then
    EXPECT_TRUE(rules_of_latch({wait(5, 9), set, down}).empty());    // the count was not set yet
    EXPECT_TRUE(rules_of_latch({set, used(4, action::erase, 0, 30, 40), wait(35, 45)}).empty());
    EXPECT_TRUE(rules_of_latch({set, unanswered(4, action::down, 2, 15), wait(21, 49)}).empty());
    // It was at zero for a moment only.
    EXPECT_TRUE(rules_of_latch({set, wait(21, 90), down, used(4, action::set, 2, 61, 70)}).empty());
}

TEST(latch, unanswered_count_down_takes_effect_once_or_never) {
    const auto set = used(1, action::set, 4, 10, 20);
    const auto lost = unanswered(2, action::down, 1, 30);
    const auto read = [](std::uint64_t id, time_ns t, std::int64_t reported) {
        return used(id, action::read, 0, t, t + 1, reported);
    };
    EXPECT_TRUE(rules_of_latch({set, lost, read(3, 40, 3)}).empty());
    EXPECT_TRUE(rules_of_latch({set, lost, read(3, 40, 4), read(4, 50, 3)}).empty());
    EXPECT_EQ(rules_of_latch({set, lost, read(3, 40, 2)}), names{"miscounted"});
    EXPECT_EQ(rules_of_latch({set, lost, read(3, 40, 3), read(4, 50, 2)}), names{"miscounted"});
    EXPECT_EQ(rules_of_latch({set, lost, read(3, 40, 3), read(4, 50, 4)}), names{"miscounted"});
    // A count_down that was sent again, and got the answer of the second time.
    EXPECT_EQ(rules_of_latch({set, used(2, action::down, 1, 30, 40, 2)}), names{"miscounted"});
}

TEST(latch, answers_must_fit_some_order_of_its_uses) {
    const auto set = used(1, action::set, 3, 10, 20);
    EXPECT_EQ(rules_of_latch({used(1, action::read, 0, 10, 20, 1)}), names{"miscounted"});
    EXPECT_EQ(rules_of_latch({set, used(2, action::set, 1, 30, 40)}), names{"miscounted"});
    auto no = used(2, action::set, 1, 5, 9);
    no.answer = phase::busy;
    EXPECT_EQ(rules_of_latch({no, set}), names{"miscounted"});
    no.what = action::erase;
    EXPECT_TRUE(rules_of_latch({no, set}).empty());
    no.asked = 30;
    no.answered = 40;
    EXPECT_EQ(rules_of_latch({set, no}), names{"miscounted"});
    // Two count_downs with the same answer.
    EXPECT_EQ(rules_of_latch({set, used(2, action::down, 1, 30, 40, 2), used(3, action::down, 1, 30, 40, 2)}),
              names{"miscounted"});
}

TEST(latch, failed_count_down_has_no_effect) {
    auto events = events_of(std::vector{used(1, action::set, 3, 10, 15), used(2, action::down, 1, 20, 25),
                                        used(3, action::read, 0, 30, 35, 2)});
    events[3].phase = phase::fail;
    EXPECT_EQ(rules_of_latch(uses_of(events)), names{"miscounted"});
    events[3].phase = phase::info;
    EXPECT_TRUE(rules_of_latch(uses_of(events)).empty());
}

// An answer from before is forgotten like all that it reports; later answers must agree again.
TEST(latch, may_have_any_count_after_a_failover_and_is_judged_again) {
    history h;
    h.locks = {{"it", model::latch}};
    h.events = events_of(std::vector{used(1, action::set, 3, 10, 20), used(2, action::down, 2, 30, 55, 1),
                                     used(3, action::read, 0, 80, 90, 2)});
    EXPECT_EQ(rules(judge(h)), names{"miscounted"});
    h.faults = {{.from = 50, .to = 70, .what = "failover", .forgets = true}};
    EXPECT_TRUE(judge(h).empty());
    const auto more = events_of(std::vector{used(4, action::read, 0, 100, 110, 3)});
    h.events.insert(h.events.end(), more.begin(), more.end());
    EXPECT_EQ(rules(judge(h)), names{"miscounted"});
}

TEST(latch, at_zero_lets_all_waiters_through_in_a_time_of_calm) {
    const auto set = used(1, action::set, 3, 10, 20);
    auto waiting = unanswered(2, action::wait, 0, 30);
    const auto down = used(3, action::down, 3, 120, 150, 0);
    const std::vector<span_of_time> calm{{100, 1000}};
    const auto found = [&](time_ns bound) {
        return rules(check_latch_waits(std::vector{set, waiting, down}, calm, bound));
    };
    EXPECT_EQ(found(400), names{"not_served"});
    waiting.answer = phase::ok;
    waiting.answered = 551;
    EXPECT_EQ(found(400), names{"not_served"});
    waiting.answered = 550;
    EXPECT_TRUE(found(400).empty());
    // No answer shows zero, or the count was set again.
    EXPECT_TRUE(
        rules(check_latch_waits(std::vector{set, unanswered(2, action::wait, 0, 30)}, calm, 400)).empty());
    EXPECT_TRUE(rules(check_latch_waits(std::vector{set, unanswered(2, action::wait, 0, 30), down,
                                                    used(4, action::set, 1, 160, 170)},
                                        calm, 400))
                    .empty());
}

TEST(resource_write, of_an_earlier_holder_after_a_later_one_is_late) {
    const std::vector<attempt> holds{holding(1, 10, 50), holding(2, 60, 90, 2)};
    const auto write = [](std::uint64_t hold, time_ns from, time_ns to, phase end) {
        event e;
        e.action = action::write;
        e.hold = hold;
        e.t = from;
        e.phase = phase::invoke;
        auto done = e;
        done.t = to;
        done.phase = end;
        return std::vector{e, done};
    };
    auto events = write(2, 70, 71, phase::ok);
    const auto late = write(1, 80, 81, phase::ok);
    events.insert(events.end(), late.begin(), late.end());
    EXPECT_EQ(rules(check_writes(holds, events)), names{"late_write"});
    events.back().phase = phase::fail;  // refused, as it should be
    EXPECT_TRUE(check_writes(holds, events).empty());
}

TEST(fences, must_exist_and_exceed_those_of_earlier_rounds) {
    auto one = holding(1, 10, 50);
    EXPECT_EQ(rules(check_fences(std::vector{one})), (names{"fence", "fence"}));
    one.fence = 5;
    EXPECT_TRUE(check_fences(std::vector{one}, 4).empty());
    EXPECT_EQ(rules(check_fences(std::vector{one}, 5)), names{"fence"});
}

TEST(report, shows_the_holds_the_faults_and_the_times) {
    history h;
    h.locks = {{"stock"}};
    h.events = events_of({holding(1, 10'000'000, 50'000'000), holding(2, 20'000'000, 60'000'000, 2)});
    h.faults = {{15'000'000, 16'000'000, "client 1: client is stopped", 0}};
    const auto found = judge(h);
    ASSERT_EQ(rules(found), names{"two_holders"});
    const auto text = report(found.front(), h);
    EXPECT_NE(text.find("two_holders of lock stock"), text.npos) << text;
    EXPECT_NE(text.find("p1.t0"), text.npos) << text;
    EXPECT_NE(text.find("p2.t0"), text.npos) << text;
    EXPECT_NE(text.find("client is stopped"), text.npos) << text;
    EXPECT_NE(text.find("+10.000 ms"), text.npos) << text;
}

TEST(judge, reads_a_million_events_in_about_a_second) {
    constexpr std::uint64_t holds = 250'000;
    history h;
    h.locks = {{"exclusive", model::exclusive, true},
               {"reentrant", model::reentrant},
               {"shared", model::shared},
               {"counted", model::counted, false, 3}};
    std::vector<attempt> all;
    for (std::uint64_t id = 1; id <= holds; ++id) {
        auto a = holding(id, static_cast<time_ns>(id * 100), static_cast<time_ns>(id * 100 + 50),
                         static_cast<std::uint32_t>(id % 16));
        a.fence = id;
        all.push_back(a);
    }
    h.events = events_of(all);
    for (auto& e : h.events) {
        e.lock = static_cast<std::uint16_t>(e.hold % h.locks.size());
        if (e.lock == 2) e.side = side::writer;
    }
    const auto begun = std::chrono::steady_clock::now();
    const auto found = judge(h);
    const auto took = std::chrono::steady_clock::now() - begun;
    EXPECT_TRUE(found.empty());
    std::cout << h.events.size() << " events judged in "
              << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms\n";
}

}  // namespace
}  // namespace holdfast::chaos
