#include "engine/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using ids = std::vector<lease_id>;

class watchdog_test : public ::testing::Test {
  protected:
    const time_point start{1h};
    time_point now = start;
    watchdog dog{1.0 / 3};

    void hold(lease_id id, milliseconds lease, bool renewed = true) {
        dog.add(id, now + lease, lease, renewed, now);
    }
    void renewal_works(lease_id id, milliseconds lease) { dog.renewed(id, now + lease, now); }
    [[nodiscard]] watchdog::work next_work() {
        now = dog.next();
        return dog.due(now);
    }
};

TEST_F(watchdog_test, has_nothing_to_do_without_leases) {
    EXPECT_EQ(dog.next(), time_point::max());
    const auto w = dog.due(now);
    EXPECT_TRUE(w.renew.empty() && w.lost.empty() && w.overdue.empty());
}

TEST_F(watchdog_test, renews_when_a_third_of_the_lease_has_passed_and_again_a_third_later) {
    hold(1, 30s);
    EXPECT_EQ(dog.next(), start + 10s);
    EXPECT_TRUE(dog.due(start + 10s - 1ns).renew.empty());
    EXPECT_EQ(next_work().renew, ids{1});
    renewal_works(1, 30s);
    EXPECT_EQ(dog.next(), start + 20s);
}

TEST_F(watchdog_test, only_ends_a_lease_that_must_not_be_renewed) {
    hold(1, 30s, false);
    EXPECT_EQ(dog.next(), start + 30s);
    const auto w = next_work();
    EXPECT_TRUE(w.renew.empty());
    EXPECT_EQ(w.lost, ids{1});
    EXPECT_EQ(dog.size(), 0U);
}

TEST_F(watchdog_test, reports_a_loss_exactly_once) {
    hold(1, 300ms);
    ids lost;
    while (dog.next() != time_point::max()) {
        const auto w = next_work();
        lost.insert(lost.end(), w.lost.begin(), w.lost.end());
    }
    EXPECT_EQ(lost, ids{1});
    EXPECT_EQ(now, start + 300ms);
    EXPECT_TRUE(dog.due(now + 1h).lost.empty());
}

TEST_F(watchdog_test, retries_soon_while_renewal_fails_and_reports_it_overdue) {
    hold(1, 30s);
    EXPECT_TRUE(next_work().overdue.empty());
    const auto w = next_work();
    EXPECT_EQ(now, start + 11s);  // a tenth of the lease, at most a second
    EXPECT_EQ(w.renew, ids{1});
    EXPECT_EQ(w.overdue, ids{1});
    dog.not_answered(1, now);
    EXPECT_TRUE(next_work().overdue.empty());  // it was answered, but with a failure
}

TEST_F(watchdog_test, keeps_the_pause_between_tries_within_bounds) {
    hold(1, 20ms);
    (void)next_work();
    const auto first = now;
    (void)next_work();
    EXPECT_EQ(now, first + 10ms);

    dog.remove(1);
    hold(2, 24h);
    (void)next_work();
    const auto second = now;
    (void)next_work();
    EXPECT_EQ(now, second + 1s);
}

TEST_F(watchdog_test, tries_more_often_the_less_time_is_left) {
    for (const milliseconds lease : {500ms, 5'000ms, 30'000ms, 3'600'000ms}) {
        watchdog one{1.0 / 3};
        const auto end = start + lease;
        one.add(1, end, lease, true, start);
        int tries = 0;
        for (now = one.next(); now < end; now = one.next()) {
            (void)one.due(now);
            one.not_answered(1, now);
            const auto left = end - now;
            const auto pause = one.next() - now;
            EXPECT_GE(pause, std::min<boot_clock::duration>(left, 10ms));
            EXPECT_LE(pause, std::max<boot_clock::duration>(left / 4, 10ms) + 1ms);
            ++tries;
        }
        EXPECT_LE(tries, 30 + lease / 1s);
    }
}

TEST_F(watchdog_test, tries_at_the_planned_time_despite_late_failures_of_earlier_tries) {
    hold(1, 30s);
    (void)next_work();
    (void)next_work();
    now = start + 11'900ms;
    dog.not_answered(1, now);
    EXPECT_EQ(next_work().renew, ids{1});
    EXPECT_EQ(now, start + 12s);
}

TEST_F(watchdog_test, returns_to_its_rhythm_after_failures) {
    hold(1, 30s);
    (void)next_work();
    (void)next_work();
    renewal_works(1, 30s);
    EXPECT_EQ(dog.next(), now + 10s);
    EXPECT_TRUE(next_work().overdue.empty());
}

TEST_F(watchdog_test, renews_at_once_when_the_store_comes_back) {
    hold(1, 30s);
    hold(2, 30s);
    hold(3, 30s, false);
    now = start + 1s;
    dog.hurry(now);
    auto w = dog.due(now);
    std::sort(w.renew.begin(), w.renew.end());
    EXPECT_EQ(w.renew, (ids{1, 2}));
    EXPECT_TRUE(w.lost.empty());
}

TEST_F(watchdog_test, renews_a_short_handed_off_lease_soon_and_before_its_end) {
    dog.add(1, now + 3s, 30s, true, now);
    EXPECT_EQ(dog.next(), now + 100ms);
    EXPECT_EQ(next_work().renew, ids{1});
    dog.remove(1);
    dog.add(2, now + 100ms, 30s, true, now);
    EXPECT_EQ(dog.next(), now + 50ms);
}

TEST_F(watchdog_test, does_not_renew_a_handed_off_lease_that_is_released_at_once) {
    dog.add(1, now + 3s, 30s, true, now);
    now += 99ms;
    EXPECT_TRUE(dog.due(now).renew.empty());
    dog.remove(1);
    EXPECT_EQ(dog.next(), time_point::max());
}

TEST_F(watchdog_test, never_shortens_a_lease) {
    hold(1, 30s);
    dog.renewed(1, now + 1s, now);
    now = start + 29s;
    EXPECT_TRUE(dog.due(now).lost.empty());
}

TEST_F(watchdog_test, renews_soon_a_lease_that_was_renewed_for_much_less) {
    dog.add(1, now + 3s, 30s, true, now);
    EXPECT_EQ(next_work().renew, ids{1});
    dog.renewed(1, start + 3s, now);
    EXPECT_EQ(dog.next(), now + 100ms);
}

TEST_F(watchdog_test, renews_after_a_third_of_the_shorter_lease_that_the_store_gives) {
    hold(1, 30s);
    (void)next_work();
    dog.gives_less(1, 6s, now + 6s);
    const auto answered = now;
    renewal_works(1, 6s);
    EXPECT_EQ(dog.next(), answered + 2s);
    dog.gives_less(2, 6s, now + 6s);  // it is not in the table
}

TEST_F(watchdog_test, loses_a_lease_when_the_shorter_time_that_the_store_gives_is_over) {
    hold(1, 30s);
    (void)next_work();
    dog.gives_less(1, 6s, now + 6s);
    renewal_works(1, 6s);
    now += 6s;
    EXPECT_EQ(dog.due(now).lost.size(), 1U);
}

TEST_F(watchdog_test, forgets_removed_leases) {
    hold(1, 30s);
    dog.remove(1);
    dog.remove(1);
    dog.renewed(1, now + 30s, now);
    dog.not_answered(1, now);
    EXPECT_EQ(dog.size(), 0U);
    EXPECT_EQ(dog.next(), time_point::max());
}

TEST_F(watchdog_test, stops_renewing_a_lease_that_is_added_again_without_renewal) {
    hold(1, 30s);
    dog.add(1, start + 30s, 30s, false, now);
    EXPECT_EQ(dog.next(), start + 30s);
    EXPECT_EQ(dog.size(), 1U);
}

TEST_F(watchdog_test, has_several_leases_due_at_once) {
    for (lease_id id = 1; id <= 5; ++id) hold(id, 30s);
    EXPECT_EQ(next_work().renew.size(), 5U);
    EXPECT_GT(dog.next(), now);
}

TEST_F(watchdog_test, renews_leases_together_that_are_due_at_about_the_same_time) {
    hold(1, 30s);
    for (lease_id id = 2; id <= 500; ++id) {
        now += 1ms;
        hold(id, 30s);
    }
    EXPECT_EQ(next_work().renew.size(), 500U);
    EXPECT_EQ(now, start + 10s);
}

TEST_F(watchdog_test, renews_no_lease_much_before_its_time) {
    for (const auto lease : {10ms, 100ms, 1'000ms, 30'000ms, 3'600'000ms}) {
        hold(1, 30s);  // this lease sets the rhythm
        now += 123'456us;
        hold(2, lease);
        dog.remove(1);
        EXPECT_GT(dog.next(), now + lease / 3 - std::max<boot_clock::duration>(lease / 60, 1ms) - 1ms);
        EXPECT_LE(dog.next(), now + lease / 3 + 1ms);
        dog.remove(2);
    }
}

// The CPU time for `leases` leases, each renewed twice and removed.
std::clock_t work_for(lease_id leases) {
    const auto begun = std::clock();
    watchdog dog;
    time_point now{1h};
    for (lease_id id = 1; id <= leases; ++id) {
        dog.add(id, now + 30s, 30s, true, now);
        now += 10us;
    }
    std::size_t renewals = 0;
    while (renewals < 2 * leases) {
        now = dog.next();
        const auto w = dog.due(now);
        for (const auto id : w.renew) dog.renewed(id, now + 30s, now);
        renewals += w.renew.size();
        EXPECT_TRUE(w.lost.empty());
    }
    for (lease_id id = 1; id <= leases; ++id) dog.remove(id);
    EXPECT_EQ(dog.size(), 0U);
    return std::clock() - begun;
}

TEST(watchdog_cost, per_lease_hardly_grows_up_to_a_hundred_thousand_leases) {
    const auto few = work_for(5'000);
    const auto many = work_for(100'000);
    // 20 times as many leases: 400 times the work if each looked at all others.
    EXPECT_LT(many, 100 * few);
}

}  // namespace
}  // namespace holdfast::engine
