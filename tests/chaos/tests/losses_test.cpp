// When a holder has lost its lock: by its deadline, by a deleted key or by an eviction.
#include "chaos/tests/attempts.hpp"
#include "chaos/tests/random_history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace holdfast::chaos {
namespace {

TEST(firm_part, ends_at_the_latest_deadline_that_the_holder_knows) {
    auto late = holding(1, 10, 500);
    late.believed = 40;
    EXPECT_TRUE(check_exclusive(std::vector{late, holding(2, 45, 60)}).empty());
    EXPECT_EQ(rules(check_exclusive(std::vector{late, holding(2, 35, 60)})), rule_names{"two_holders"});
}

TEST(firm_part, of_a_killed_holder_lasts_until_its_lease_ends) {
    auto killed = holding(1, 10, 50);
    killed.release_begun = killed.release_answered = never;
    killed.believed = 100;
    EXPECT_EQ(rules(check_exclusive(std::vector{killed, holding(2, 90, 95)})), rule_names{"two_holders"});
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
    EXPECT_EQ(rules(check_exclusive(attempts_of(events))), rule_names{"two_holders"});
}

TEST(loss, before_the_deadline_is_a_violation) {
    auto events = events_of({holding(1, 10, 50)});
    EXPECT_TRUE(check_losses(attempts_of(events)).empty());
    events.back().phase = phase::fail;  // released: not held, though the deadline is at 150
    EXPECT_EQ(rules(check_losses(attempts_of(events))), rule_names{"silent_loss"});
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
    EXPECT_EQ(rules(check_loss_reports(attempts_of(events))), rule_names{"unreported"});
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
    EXPECT_EQ(rules(judge(h)), (rule_names{"silent_loss", "silent_loss"}));
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
    EXPECT_EQ(rules(judge(h)), rule_names{"two_holders"});
    EXPECT_EQ(rules(judge(with({holding(1, 10, 50), holding(2, 30, 60, 2), holding(3, 40, 70, 3)}))),
              rule_names{"two_holders"});
    auto lost = with({holding(1, 10, 50)});
    for (auto& e : lost.events) {
        if (e.action == action::release && e.phase == phase::ok) e.phase = phase::fail;
    }
    EXPECT_TRUE(judge(lost).empty());
}

TEST_F(deleted_key, voids_a_lease_that_passed_to_another_thread) {
    const auto other = holding(2, 30, 60, 2);
    auto next = holding(3, 51, 70);
    EXPECT_EQ(rules(judge(with({holding(1, 10, 50), other, next}))), rule_names{"two_holders"});
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
    EXPECT_EQ(rules(judge(h)), rule_names{"revived"});
    h.events.front().lease = 300;  // a renewal that was on its way
    EXPECT_TRUE(judge(h).empty());
    h.events.front().lease = 0;
    h.events[2].t = 15;  // seen before the deletion
    EXPECT_TRUE(judge(h).empty());
}

// The first hold looked, and its lease was valid.
event valid_at(time_ns t) {
    event look;
    look.action = action::look;
    look.phase = phase::ok;
    look.hold = 1;
    look.t = t;
    return look;
}

TEST(eviction, ends_a_lease_by_the_time_it_reported) {
    auto believer = holding(1, 10, 500);
    believer.token = 7;
    const auto look = valid_at(40);
    const auto found_by = [&](time_ns to, bool gave_up, time_ns may_go_on, std::uint64_t token = 7) {
        std::vector<attempt> all{believer};
        const fault evicted{
            .from = 20, .to = to, .what = "evicted", .evicted = {{token, gave_up, may_go_on}}};
        return rules(check_evictions(all, std::vector{look}, std::vector{evicted}));
    };
    EXPECT_EQ(found_by(30, true, never), rule_names{"evicted_believes"});
    EXPECT_EQ(found_by(45, true, never), rule_names{}) << "it looked before the eviction reported";
    EXPECT_EQ(found_by(30, false, 5), rule_names{"evicted_believes"});
    EXPECT_EQ(found_by(30, false, 15), rule_names{});
    EXPECT_EQ(found_by(30, true, never, 8), rule_names{}) << "another holder";
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
    const auto look = valid_at(90);
    const fault evicted{.from = 20, .to = 30, .what = "evicted", .evicted = {{7, true}}};
    const auto found_if = [&](time_ns granted_from) {
        again.granted_from = granted_from;
        std::vector<attempt> all{again};
        return rules(check_evictions(all, std::vector{look}, std::vector{evicted}));
    };
    EXPECT_EQ(found_if(35), rule_names{});
    EXPECT_EQ(found_if(25), rule_names{"evicted_believes"});
}

TEST(eviction, may_end_a_later_grant_to_the_same_waiter_when_its_request_comes_late) {
    auto again = holding(1, 60, 500);
    again.asked = 10;
    again.token = 7;
    again.granted_from = 35;
    again.lost = 62;
    const fault evicted{.from = 20, .to = 30, .what = "evicted", .evicted = {{7, false, 0}}};
    const auto found_if = [&](time_ns asked, time_ns next) {
        again.asked = asked;
        std::vector<attempt> all{again, holding(2, next, 90, 2)};
        EXPECT_TRUE(check_evictions(all, {}, std::vector{evicted}).empty());
        auto found = check_losses(all);
        for (const auto& more : check_exclusive(all)) found.push_back(more);
        return rules(found);
    };
    EXPECT_EQ(found_if(10, 63), rule_names{});
    EXPECT_EQ(found_if(10, 61), rule_names{"two_holders"})
        << "until it learned of the loss the lease was firm";
    EXPECT_EQ(found_if(32, 63), (rule_names{"silent_loss", "two_holders"}))
        << "it waited for nothing at that time";
}

TEST(eviction, may_end_a_later_grant_to_a_process_that_is_killed_before_it_tells) {
    auto again = holding(1, 60, 500);
    again.asked = 10;
    again.token = 7;
    again.granted_from = 35;
    again.release_begun = again.release_answered = never;
    const auto look = valid_at(65);
    const fault evicted{.from = 20, .to = 30, .what = "evicted", .evicted = {{7, false, 0}}};
    const auto found_if = [&](time_ns next) {
        std::vector<attempt> all{again, holding(2, next, 90, 2)};
        EXPECT_TRUE(check_evictions(all, std::vector{look}, std::vector{evicted}).empty());
        return rules(check_exclusive(all));
    };
    EXPECT_EQ(found_if(66), rule_names{});
    EXPECT_EQ(found_if(64), rule_names{"two_holders"}) << "it looked, and the lease was valid";
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

}  // namespace
}  // namespace holdfast::chaos
