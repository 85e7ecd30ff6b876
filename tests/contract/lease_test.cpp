// How long a lease is valid, and how it ends.
#include "contract/lock_contract.hpp"
#include "support/stalls.hpp"

namespace holdfast::contract {

TEST_P(lock_contract, no_other_client_gets_the_lock_while_the_lease_is_valid) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    const auto expiring = briefly(of_a, 200ms);
    auto next = of_b->try_acquire_for(patience);
    EXPECT_FALSE(expiring.valid());
    ASSERT_TRUE(next);
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(expiring.state(), lease_state::lost);
    EXPECT_EQ(expiring.remaining(), 0ns);
}

TEST_P(lock_contract, held_lock_is_renewed_beyond_its_lease) {
    auto short_lease = settings();
    short_lease.lease = 6s;  // outlasts a machine that stalls for seconds
    client c{short_lease};
    const auto of_c = lock_of(c);
    const auto of_b = lock_of(b());
    {
        auto held = of_c->acquire();
        const auto after = boot_clock::now() + short_lease.lease;
        EXPECT_TRUE(eventually(patience, [&] {
            return !held.valid() || (boot_clock::now() > after && c.stats().renewals >= 3);
        }));
        EXPECT_TRUE(held.valid());
        EXPECT_FALSE(of_b->try_acquire());
        EXPECT_EQ(held.release(), release_outcome::released);
    }
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(lock_contract, lease_with_a_ttl_is_not_renewed) {
    const auto of_a = lock_of(a());
    auto held = briefly(of_a, 150ms);
    EXPECT_LE(held.remaining(), 150ms);
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(a().stats().renewals, 0U);
    EXPECT_EQ(a().stats().lost, 1U);
}

TEST_P(lock_contract, renew_option_overrides_the_default) {
    const auto renewed = lock_of(a(), "renewed", {.ttl = 3s});
    const auto left = lock_of(b(), "left", {.ttl = 600ms, .renew = true});
    auto stays = renewed->acquire({.renew = true});
    auto ends = left->acquire({.renew = false});
    EXPECT_TRUE(eventually(patience, [&] { return a().stats().renewals >= 2; }));
    EXPECT_TRUE(stays.valid());
    EXPECT_TRUE(eventually(patience, [&] { return !ends.valid(); }));
    EXPECT_EQ(b().stats().renewals, 0U);
}

TEST_P(lock_contract, lease_can_be_acquired_until_a_time) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    const auto held = of_a->try_acquire_until(boot_clock::now() + patience);
    EXPECT_TRUE(held.valid());
    std::error_code ec;
    EXPECT_FALSE(of_b->try_acquire_until(std::chrono::system_clock::now() + 20ms, {.ttl = 5s}, ec));
    EXPECT_FALSE(of_b->try_acquire_until(std::chrono::steady_clock::time_point::min(), ec));
    EXPECT_FALSE(ec);
}

TEST_P(lock_contract, lease_names_the_kind_of_its_store) {
    const auto held = lock_of(a())->acquire();
    EXPECT_EQ(held.store(), a().settings().url.substr(0, a().settings().url.find(':')));
    EXPECT_FALSE(held.store().empty());
    EXPECT_EQ(lease{}.store(), "");
}

TEST_P(lock_contract, renew_makes_a_lease_whole_again) {
    const auto of_a = lock_of(a());
    auto held = of_a->acquire({.ttl = 20s});
    const auto first = held.deadline();
    EXPECT_TRUE(held.renew());
    EXPECT_GT(held.deadline(), first);
    EXPECT_LE(held.deadline(), boot_clock::now() + 20s);
    EXPECT_FALSE(lock_of(b())->try_acquire());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_FALSE(held.renew());
}

TEST_P(lock_contract, renew_reports_that_the_lock_is_lost) {
    if (!can().inspection) GTEST_SKIP() << "this store does not show its locks";
    const auto of_a = lock_of(a());
    auto held = of_a->acquire();
    ASSERT_TRUE(evict(b(), stock));
    EXPECT_FALSE(held.renew());
    EXPECT_EQ(held.state(), lease_state::lost);
    lease none;
    EXPECT_FALSE(none.renew());
}

TEST_P(lock_contract, ttl_of_the_lock_is_the_default_of_its_leases) {
    const auto of_a = lock_of(a(), stock, {.ttl = 1s});
    const auto by_default = of_a->acquire();
    EXPECT_LE(by_default.remaining(), 1s);
    EXPECT_TRUE(eventually(patience, [&] { return !by_default.valid(); }));
    const auto own = of_a->acquire({.ttl = 20s});
    EXPECT_GT(own.remaining(), 10s);
}

TEST_P(lock_contract, second_release_returns_the_first_answer) {
    const auto of_a = lock_of(a());
    auto held = of_a->acquire();
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(held.state(), lease_state::released);
    EXPECT_FALSE(held.valid());
    const auto of_b = lock_of(b());
    auto next = of_b->acquire();
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(next.release(), release_outcome::released) << "the second release of A took nothing from B";
}

TEST_P(lock_contract, late_release_is_already_lost_and_keeps_the_lock_of_the_next_holder) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    auto late = briefly(of_a, 100ms);
    auto next = of_b->try_acquire_for(patience);
    ASSERT_TRUE(next);
    EXPECT_EQ(late.release(), release_outcome::already_lost);
    EXPECT_EQ(late.release(), release_outcome::already_lost);
    EXPECT_FALSE(of_a->try_acquire());
    EXPECT_EQ(next.release(), release_outcome::released);
}

TEST_P(lock_contract, late_release_keeps_the_lock_of_a_thread_of_the_same_client) {
    const auto of_a = lock_of(a());
    auto late = briefly(of_a, 100ms);
    auto next = of_a->try_acquire_for(patience);
    ASSERT_TRUE(next);
    EXPECT_EQ(late.release(), release_outcome::already_lost);
    EXPECT_TRUE(next.valid());
    EXPECT_FALSE(lock_of(b())->try_acquire());
    EXPECT_EQ(next.release(), release_outcome::released);
}

TEST_P(lock_contract, moved_from_lease_is_empty) {
    const auto of_a = lock_of(a());
    lease first = of_a->acquire();
    lease second{std::move(first)};
    EXPECT_FALSE(first);
    EXPECT_EQ(first.state(), lease_state::empty);
    EXPECT_EQ(first.release(), release_outcome::already_lost);
    EXPECT_FALSE(first.valid());
    EXPECT_EQ(first.fence(), fence::none);
    EXPECT_TRUE(first.owner().empty());
    EXPECT_FALSE(first.lost_token().stop_requested());
    EXPECT_TRUE(second.valid());
    lease& same = second;
    second = std::move(same);
    EXPECT_TRUE(second.valid());
}

TEST_P(lock_contract, assignment_releases_the_old_lease) {
    const auto one = lock_of(a(), "one");
    const auto two = lock_of(a(), "two");
    auto held = one->acquire();
    held = two->acquire();
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(lock_of(b(), "one")->try_acquire());
    EXPECT_FALSE(lock_of(b(), "two")->try_acquire());
    held = lease{};
    EXPECT_TRUE(lock_of(b(), "two")->try_acquire());
}

TEST_P(lock_contract, lease_is_released_at_the_end_of_its_scope) {
    const auto of_b = lock_of(b());
    {
        const auto held = lock_of(a())->acquire();
        EXPECT_FALSE(of_b->try_acquire());
    }
    EXPECT_TRUE(of_b->try_acquire());
}

TEST_P(lock_contract, another_thread_can_release_a_lease) {
    auto held = lock_of(a())->acquire();
    std::thread{[&] { EXPECT_EQ(held.release(), release_outcome::released); }}.join();
    EXPECT_TRUE(lock_of(b())->try_acquire());
}

TEST_P(lock_contract, loss_requests_stop_and_is_reported_once) {
    event_recorder events{a()};
    const auto of_a = lock_of(a());
    auto held = briefly(of_a, 100ms);
    std::promise<bool> valid_when_lost;
    const std::stop_callback on_loss{held.lost_token(), [&] { valid_when_lost.set_value(held.valid()); }};
    auto lost_so = valid_when_lost.get_future();
    ASSERT_EQ(lost_so.wait_for(patience), std::future_status::ready);
    EXPECT_FALSE(lost_so.get());
    const auto lost = events.next(event_kind::lost);
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->lock, stock);
    EXPECT_EQ(lost->reason, errc::lost);
    held.release();
    EXPECT_EQ(events.count(event_kind::lost), 1U);
    EXPECT_EQ(a().stats().lost, 1U);
    EXPECT_EQ(a().stats().held_now, 0U);
}

TEST_P(lock_contract, released_lease_is_never_reported_as_lost) {
    const auto of_a = lock_of(a());
    auto held = briefly(of_a, 300ms);
    const auto end = held.deadline();
    held.release();
    EXPECT_TRUE(eventually(patience, [&] { return boot_clock::now() > end + 20ms; }));
    EXPECT_FALSE(held.lost_token().stop_requested());
    EXPECT_EQ(a().stats().lost, 0U);
}

TEST_P(lock_contract, handed_off_lock_gets_the_whole_lease) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    auto held = of_a->acquire();
    auto waiting = in_background([&] { return of_b->acquire(); });
    ASSERT_TRUE(has_waiter(b()));
    held.release();
    auto next = waiting.get();
    EXPECT_TRUE(next.valid());
    EXPECT_TRUE(eventually(patience, [&] { return next.remaining() > 25s; }));
    EXPECT_TRUE(next.valid());
}

TEST_P(lock_contract, handed_off_lock_gets_no_more_than_its_ttl) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    auto held = of_a->acquire();
    auto waiting = in_background([&] { return of_b->acquire({.ttl = 1s}); });
    ASSERT_TRUE(has_waiter(b()));
    held.release();
    const auto next = waiting.get();
    EXPECT_LE(next.remaining(), 1s);
    const auto got = boot_clock::now();
    EXPECT_TRUE(eventually(patience, [&] { return !next.valid(); }));
    EXPECT_LT(boot_clock::now() - got, 2s + test::taken_by_the_machine());
}

TEST_P(fenced_contract, fences_grow_across_all_clients) {
    const any_lock locks[] = {lock_of(a()), lock_of(b())};
    fence last = fence::none;
    for (int i = 0; i < 60; ++i) {
        const auto held = locks[i % 3 % 2]->acquire();
        EXPECT_GT(held.fence(), last);
        last = held.fence();
    }
    const std::lock_guard hold{*locks[0]};
    EXPECT_GT(locks[0]->held_fence(), last);
}

TEST_P(fenced_contract, fences_grow_across_hand_offs) {
    const any_lock locks[] = {lock_of(a()), lock_of(b())};
    fence last = fence::none;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, mine = locks[i % 2]] {
            for (int round = 0; round < 25; ++round) {
                const auto held = mine->acquire();
                EXPECT_GT(held.fence(), std::exchange(last, held.fence()));
            }
        });
    }
    threads.clear();
}

TEST_P(fenced_contract, fences_grow_past_an_expired_holder) {
    const auto first = briefly(lock_of(a()), 50ms);
    const auto second = lock_of(b())->try_acquire_for(patience);
    EXPECT_GT(second.fence(), first.fence());
}

// lease.hpp, thread safety.
TEST_P(lock_contract, valid_may_be_asked_while_another_thread_releases) {
    const auto lock = lock_of(a());
    for (int i = 0; i < 20; ++i) {
        auto held = lock->acquire();
        std::atomic<bool> asked = false;
        auto other = in_background([&] {
            do asked = true;
            while (held.valid());
            return held.state();
        });
        while (!asked) std::this_thread::yield();
        EXPECT_TRUE(held.release());
        EXPECT_EQ(other.get(), lease_state::released);
        EXPECT_FALSE(held.valid());
    }
}

TEST_P(lock_contract, only_a_fenced_lock_has_fences) {
    const auto held = lock_of(a())->acquire();
    EXPECT_EQ(held.fence() != fence::none, has_fence());
}

}  // namespace holdfast::contract
