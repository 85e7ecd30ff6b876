// Events, statistics and inspection, and what an operator may do.
#include "contract/lock_contract.hpp"

#include <unistd.h>

namespace holdfast::contract {

TEST_P(lock_contract, each_acquire_and_each_release_is_reported) {
    event_recorder events{a()};
    const auto of_a = lock_of(a());
    auto held = of_a->acquire();
    const auto acquired = events.next(event_kind::acquired);
    ASSERT_TRUE(acquired);
    EXPECT_EQ(acquired->lock, stock);
    EXPECT_EQ(acquired->fence, held.fence());
    EXPECT_FALSE(events.next(event_kind::released, 0ms));
    held.release();
    ASSERT_TRUE(events.next(event_kind::released));
    EXPECT_EQ(events.count(event_kind::acquired), 1U);
    EXPECT_EQ(events.count(event_kind::lost), 0U);
}

TEST_P(lock_contract, removed_listener_receives_no_events) {
    auto received = std::make_shared<std::atomic<int>>(0);
    auto listening = a().on_event([received](const event&) { ++*received; });
    event_recorder still{a()};
    (void)lock_of(a())->acquire();
    ASSERT_TRUE(still.next(event_kind::released));
    ASSERT_TRUE(
        eventually(patience, [&] { return *received >= 1; }));  // each listener has a thread of its own
    listening.reset();
    const int before = *received;
    (void)lock_of(a())->acquire();
    ASSERT_TRUE(still.next(event_kind::released));
    EXPECT_EQ(*received, before);
}

TEST_P(lock_contract, listener_that_throws_harms_no_other_listener) {
    const auto bad = a().on_event([](const event&) { throw std::runtime_error{"listener"}; });
    event_recorder good{a()};
    (void)lock_of(a())->acquire();
    EXPECT_TRUE(good.next(event_kind::released));
}

TEST_P(lock_contract, stats_count_the_outcomes_of_acquire_operations) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    EXPECT_EQ(b().stats().failure_rate(), 0.0);
    auto held = of_a->acquire();
    EXPECT_EQ(a().stats().held_now, 1U);
    (void)of_b->try_acquire();
    (void)of_b->try_acquire_for(5ms);
    held.release();
    (void)of_b->acquire();

    const auto of_holder = a().stats();
    EXPECT_EQ(of_holder.attempts.granted, 1U);
    EXPECT_EQ(of_holder.attempts.busy, 0U);
    EXPECT_EQ(of_holder.acquired, 1U);
    EXPECT_EQ(of_holder.released, 1U);
    EXPECT_EQ(of_holder.held_now, 0U);
    EXPECT_EQ(of_holder.wait.count, 1U);
    EXPECT_EQ(of_holder.hold.count, 1U);
    EXPECT_GT(of_holder.hold.quantile(0.5), 0us);
    EXPECT_GT(of_holder.commands_sent, 0U);
    EXPECT_EQ(of_holder.failure_rate(), 0.0);

    const auto of_waiter = b().stats();
    EXPECT_EQ(of_waiter.acquired, 1U);
    EXPECT_EQ(of_waiter.not_acquired, 2U);
    EXPECT_GE(of_waiter.attempts.busy, 2U);
    EXPECT_EQ(of_waiter.attempts.refused, 0U);
    EXPECT_EQ(of_waiter.attempts.unknown, 0U);
    EXPECT_NEAR(of_waiter.failure_rate(), 2.0 / 3, 1e-9);
}

TEST_P(lock_contract, stats_measure_wait_and_hold_times) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    auto held = of_a->acquire();
    auto waiting = in_background([&] { (void)of_b->acquire(); });
    ASSERT_TRUE(has_waiter(b()));
    const auto since = boot_clock::now();
    EXPECT_TRUE(eventually(patience, [&] { return boot_clock::now() > since + 50ms; }));
    held.release();
    waiting.get();
    EXPECT_GE(b().stats().wait.sum, 50ms);
    EXPECT_GE(b().stats().wait.quantile(1), 50ms);
    EXPECT_GE(a().stats().hold.sum, 50ms);
}

// --- inspection -------------------------------------------------------------------------------------

TEST_P(lock_contract, inspect_shows_the_holder) {
    if (!can().inspection) GTEST_SKIP() << "this store does not show its locks";
    EXPECT_EQ(inspect(b(), stock).layout, "free");
    EXPECT_TRUE(inspect(b(), stock).holders.empty());
    const auto held = lock_of(a())->acquire();
    auto seen = inspect(b(), stock);
    // A client begins to show that it is connected when it is used, perhaps a moment after its first grant.
    EXPECT_TRUE(eventually(patience, [&] {
        seen = inspect(b(), stock);
        return seen.holders.size() == 1 && seen.holders[0].client == presence::connected;
    }));
    EXPECT_EQ(seen.name, lock_name{stock});
    EXPECT_TRUE(names_this_kind(seen.layout)) << seen.layout;
    EXPECT_TRUE(seen.ours);
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].owner, held.owner().str());
    EXPECT_EQ(seen.holders[0].pid, ::getpid());
    EXPECT_EQ(seen.holders[0].holds, 1U);
    EXPECT_EQ(seen.ttl.has_value(), shows_ttl());
    if (seen.ttl) {
        EXPECT_GT(*seen.ttl, 25s);
        EXPECT_LE(*seen.ttl, 30s);
    }
    EXPECT_TRUE(seen.queue.empty());
    EXPECT_EQ(seen.last_fence.has_value(), has_fence());
    if (has_fence()) {
        EXPECT_GE(seen.last_fence, to_number(held.fence()));
    }
}

TEST_P(queue_contract, inspect_shows_the_waiter) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    auto held = of_a->acquire();
    auto waiting = in_background([&] { return of_b->acquire(); });
    ASSERT_TRUE(queue_has(1));
    const auto waiter = inspect(a(), stock).queue.at(0);
    EXPECT_EQ(waiter.pid, ::getpid());
    EXPECT_TRUE(waiter.waiting);
    held.release();
    EXPECT_EQ(waiting.get().owner().str(), waiter.owner);
}

TEST_P(lock_contract, list_shows_held_locks) {
    if (!can().inspection) GTEST_SKIP() << "this store does not show its locks";
    if (!takes_any_name()) GTEST_SKIP() << "this store refuses names with lone braces for this kind";
    const auto one = lock_of(a(), "list:one")->acquire();
    const auto two = lock_of(a(), "list:two")->acquire();
    const auto other = lock_of(b(), "else{")->acquire();
    (void)lock_of(b(), "list:free")->acquire();
    const auto names = [&](const std::string& glob) {
        std::vector<std::string> found;
        for (const auto& l : list(b(), glob)) found.push_back(l.name.str());
        std::sort(found.begin(), found.end());
        return found;
    };
    EXPECT_EQ(names("*"), (std::vector<std::string>{"else{", "list:one", "list:two"}));
    EXPECT_EQ(names("list:*"), (std::vector<std::string>{"list:one", "list:two"}));
    EXPECT_EQ(names("list:t?o"), (std::vector<std::string>{"list:two"}));
    EXPECT_EQ(names("[l]ist:one"), (std::vector<std::string>{}));
    EXPECT_EQ(names("nothing*"), (std::vector<std::string>{}));
}

// --- eviction ---------------------------------------------------------------------------------------

TEST_P(lock_contract, evicted_holder_learns_of_it_by_its_next_renewal) {
    if (!can().inspection) GTEST_SKIP() << "this store does not show its locks";
    auto short_lease = settings();
    short_lease.lease = 600ms;
    client c{short_lease};
    event_recorder events{c};
    const auto of_c = lock_of(c);
    auto held = of_c->acquire();
    EXPECT_TRUE(evict(b(), stock));
    EXPECT_TRUE(events.next(event_kind::lost));
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(lock_of(b())->try_acquire());
    EXPECT_TRUE(of_c->try_acquire());
}

TEST_P(mutex_contract, lease_evicted_by_its_own_client_is_invalid_at_once) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    auto first = of_b->acquire();
    auto waiting = in_background([&] { return of_a->acquire(); });
    ASSERT_TRUE(queue_has(1));
    first.release();
    const auto held = waiting.get();
    EXPECT_TRUE(evict(a(), stock));
    EXPECT_FALSE(held.valid());
}

TEST_P(lock_contract, eviction_lets_the_next_waiter_in) {
    if (!can().inspection) GTEST_SKIP() << "this store does not show its locks";
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    const auto stuck = of_a->acquire();
    auto waiting = in_background([&] { return of_b->acquire(); });
    ASSERT_TRUE(has_waiter(b()));
    auto operators = another_client();
    EXPECT_TRUE(evict(*operators, stock));
    EXPECT_TRUE(waiting.get().valid());
}

TEST_P(lock_contract, evict_returns_false_without_a_holder) {
    if (!can().inspection) GTEST_SKIP() << "this store does not show its locks";
    EXPECT_FALSE(evict(a(), stock));
    (void)lock_of(a())->acquire();
    EXPECT_FALSE(evict(a(), stock));
    EXPECT_TRUE(nothing_is_left());
}

}  // namespace holdfast::contract
