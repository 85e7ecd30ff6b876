// Locks under the guards of the standard library, and with_lock().
#include "contract/lock_contract.hpp"
#include "support/misuse.hpp"

namespace holdfast::contract {

TEST_P(lock_contract, lock_works_under_a_lock_guard) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    {
        const std::lock_guard hold{*of_a};
        EXPECT_TRUE(of_a->held_by_this_thread());
        EXPECT_TRUE(of_a->valid());
        EXPECT_FALSE(of_b->held_by_this_thread());
        EXPECT_FALSE(of_b->try_lock());
        std::thread{[&] { EXPECT_FALSE(of_a->held_by_this_thread()); }}.join();
    }
    EXPECT_FALSE(of_a->held_by_this_thread());
    EXPECT_FALSE(of_a->valid());
    ASSERT_TRUE(of_b->try_lock());
    of_b->unlock();
}

TEST_P(lock_contract, lock_works_under_a_unique_lock_with_a_time_limit) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    std::unique_lock mine{*of_a, 5s};
    ASSERT_TRUE(mine);
    EXPECT_FALSE((std::unique_lock{*of_b, 20ms}));
    EXPECT_FALSE((std::unique_lock{*of_b, std::chrono::steady_clock::now() + 20ms}));
    EXPECT_FALSE((std::unique_lock{*of_b, std::try_to_lock}));
    mine.unlock();
    EXPECT_TRUE((std::unique_lock{*of_b, 5s}));
}

TEST_P(lock_contract, two_locks_are_acquired_together_without_a_deadlock) {
    const any_lock from[] = {lock_of(a(), "from"), lock_of(b(), "from")};
    const any_lock to[] = {lock_of(a(), "to"), lock_of(b(), "to")};
    std::atomic<int> inside{0};
    std::atomic<int> rounds{0};
    {
        std::jthread one{[&] {
            for (int i = 0; i < 10; ++i) {
                const std::scoped_lock both{*from[0], *to[0]};
                EXPECT_EQ(inside.fetch_add(1), 0);
                inside.fetch_sub(1);
                ++rounds;
            }
        }};
        std::jthread other{[&] {
            for (int i = 0; i < 10; ++i) {
                std::unique_lock first{*to[1], std::defer_lock};
                std::unique_lock second{*from[1], std::defer_lock};
                std::lock(first, second);
                EXPECT_EQ(inside.fetch_add(1), 0);
                inside.fetch_sub(1);
                ++rounds;
            }
        }};
    }
    EXPECT_EQ(rounds, 20);
    EXPECT_TRUE(nothing_is_left("from"));
    EXPECT_TRUE(nothing_is_left("to"));
}

TEST_P(lock_contract, unlock_by_another_thread_is_reported_and_harmless) {
    const test::misuse_expected here;
    event_recorder events{a()};
    const auto of_a = lock_of(a());
    of_a->lock();
    std::thread{[&] { of_a->unlock(); }}.join();
    const auto complaint = events.next(event_kind::release_failed);
    ASSERT_TRUE(complaint);
    EXPECT_EQ(complaint->reason, errc::not_owner);
    EXPECT_EQ(complaint->lock, stock);
    EXPECT_TRUE(of_a->valid());
    EXPECT_FALSE(lock_of(b())->try_acquire());
    EXPECT_EQ(here.count(), 1);
    of_a->unlock();
    EXPECT_TRUE(lock_of(b())->try_acquire());
}

TEST_P(lock_contract, unlock_of_an_expired_lease_keeps_the_lock_of_the_next_holder) {
    const auto of_a = lock_of(a(), stock, {.ttl = 1s});
    of_a->lock();
    const auto next = lock_of(b())->try_acquire_for(patience);
    ASSERT_TRUE(next);
    EXPECT_TRUE(of_a->held_by_this_thread()) << "until it unlocks";
    EXPECT_FALSE(of_a->valid());
    of_a->unlock();
    EXPECT_FALSE(of_a->held_by_this_thread());
    EXPECT_TRUE(next.valid());
    EXPECT_FALSE(of_a->try_lock());
}

TEST_P(lock_contract, thread_that_ends_as_holder_is_reported_and_not_renewed) {
    auto short_lease = settings();
    short_lease.lease = 1s;
    client c{short_lease};
    event_recorder events{c};
    const auto of_c = lock_of(c);
    // On a slow machine the lease may end before its thread.
    std::optional<event> gone;
    for (int i = 0; i < 5 && !gone; ++i) {
        std::thread{[&] { of_c->lock(); }}.join();
        gone = events.next_of({event_kind::holder_gone, event_kind::lost});
        ASSERT_TRUE(gone);
        if (gone->kind == event_kind::lost) gone.reset();
    }
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->lock, stock);
    EXPECT_TRUE(lock_of(b())->try_acquire_for(patience));
    EXPECT_TRUE(events.next(event_kind::lost));
    EXPECT_TRUE(of_c->try_acquire_for(patience)) << "its own client can acquire it again";
}

// --- with_lock --------------------------------------------------------------------------------------

TEST_P(lock_contract, with_lock_returns_the_result_of_the_function) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    EXPECT_EQ(with_lock(*of_a, [&] { return of_b->try_acquire() ? 1 : 42; }), 42);

    int shelf = 7;
    int& same = with_lock(*of_a, [&]() -> int& { return shelf; });
    EXPECT_EQ(&same, &shelf);

    EXPECT_EQ(*with_lock(*of_a, [] { return std::make_unique<int>(5); }), 5);

    bool ran = false;
    with_lock(*of_a, [&](lease& held) { ran = held.valid(); });
    EXPECT_TRUE(ran);
    EXPECT_TRUE(of_b->try_acquire());
}

TEST_P(lock_contract, with_lock_releases_when_the_function_throws) {
    const auto of_a = lock_of(a());
    EXPECT_THROW(with_lock(*of_a, [] { throw std::out_of_range{"shelf"}; }), std::out_of_range);
    EXPECT_TRUE(lock_of(b())->try_acquire());
}

TEST_P(lock_contract, with_lock_throws_lost_when_the_lease_expires_in_the_function) {
    const auto of_a = lock_of(a(), stock, {.ttl = 1s});
    try {
        with_lock(*of_a,
                  [](lease& held) { EXPECT_TRUE(eventually(patience, [&] { return !held.valid(); })); });
        FAIL() << "the loss was not reported";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::lost);
        EXPECT_NE(std::string{e.what()}.find(stock), std::string::npos);
    }
}

// --- repeated locks by one thread -----------------------------------------------------------------------

TEST_P(mutex_contract, second_lock_by_the_same_thread_throws_would_deadlock) {
    const auto of_a = lock_of(a());
    const std::lock_guard hold{*of_a};
    try {
        of_a->lock();
        FAIL() << "it deadlocks or re-enters";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::would_deadlock);
    }
    EXPECT_FALSE(of_a->try_lock());
    EXPECT_TRUE(of_a->valid());
    const auto same_lock = lock_of(a());
    EXPECT_THROW(same_lock->lock(), error) << "another object, the same lock";
}

TEST_P(lock_contract, with_lock_takes_the_options_of_an_acquisition) {
    const auto of_a = lock_of(a());
    const auto left = with_lock(*of_a, {.ttl = 2s}, [](const lease& held) { return held.remaining(); });
    EXPECT_GT(left, 0s);
    EXPECT_LE(left, 2s);
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(lock_contract, try_with_lock_for_runs_the_function_only_if_it_gets_the_lock) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    bool ran = false;
    EXPECT_TRUE(try_with_lock_for(*of_a, patience, [&] {
        ran = true;
        EXPECT_FALSE(try_with_lock_for(*of_b, 20ms, [] { FAIL() << "two holders"; }));
        EXPECT_EQ(try_with_lock_for(*of_b, 0s, [] { return 1; }), std::nullopt);
    }));
    EXPECT_TRUE(ran);
    EXPECT_EQ(try_with_lock_for(*of_b, patience, [](const lease& held) { return held.valid(); }), true);
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(recursive_contract, thread_holds_the_lock_until_its_last_unlock) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    const auto shows_holds = [&](std::uint32_t holds) {
        return [&, holds] { return !can().inspection || inspect(b(), stock).holders.at(0).holds == holds; };
    };
    of_a->lock();
    of_a->lock();
    EXPECT_TRUE(of_a->try_lock());
    EXPECT_TRUE(of_a->try_lock_for(1s));
    EXPECT_TRUE(eventually(patience, shows_holds(4)));
    for (int left = 3; left >= 1; --left) {
        of_a->unlock();
        EXPECT_TRUE(of_a->held_by_this_thread());
        EXPECT_TRUE(of_a->valid());
        EXPECT_FALSE(of_b->try_lock());
    }
    EXPECT_TRUE(eventually(patience, shows_holds(1)));
    of_a->unlock();
    EXPECT_FALSE(of_a->held_by_this_thread());
    EXPECT_TRUE(of_b->try_acquire());
    EXPECT_EQ(a().stats().reentered, 3U);
    EXPECT_EQ(a().stats().acquired, 1U);
}

TEST_P(recursive_contract, failed_multi_lock_undoes_its_nested_hold) {
    const auto of_a = lock_of(a());
    const auto busy = lock_of(b(), "zz_busy")->acquire();
    const auto member = lock_of(a(), "zz_busy");
    multi_lock both{*of_a, *member};
    of_a->lock();
    EXPECT_FALSE(both.try_lock());
    EXPECT_TRUE(of_a->held_by_this_thread());
    of_a->unlock();
    EXPECT_FALSE(of_a->held_by_this_thread());
    EXPECT_TRUE(lock_of(b())->try_acquire());
}

TEST_P(recursive_contract, another_thread_cannot_reenter) {
    const auto of_a = lock_of(a());
    const std::lock_guard hold{*of_a};
    std::thread{[&] { EXPECT_FALSE(of_a->try_lock()); }}.join();
}

TEST_P(recursive_contract, nested_lease_holds_the_lock_after_the_outer_release) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    auto outer = of_a->acquire();
    auto inner = nested(of_a, outer);
    EXPECT_EQ(inner.owner(), outer.owner());
    EXPECT_EQ(outer.release(), release_outcome::released);
    EXPECT_FALSE(outer.valid());
    EXPECT_TRUE(inner.valid());
    EXPECT_FALSE(of_b->try_acquire());
    EXPECT_EQ(inner.release(), release_outcome::released);
    EXPECT_TRUE(of_b->try_acquire());
}

TEST_P(recursive_contract, nested_acquire_needs_a_live_lease_of_this_lock) {
    const auto of_a = lock_of(a());
    const auto other = lock_of(a(), "other");
    const auto refusal = [&](const lease& outer) { return code_of([&] { (void)nested(of_a, outer); }); };
    const auto elsewhere = other->acquire();
    EXPECT_EQ(refusal(elsewhere), errc::not_owner);
    EXPECT_EQ(refusal(lease{}), errc::not_owner);
    auto ended = of_a->acquire({.ttl = 1s});
    EXPECT_TRUE(eventually(patience, [&] { return !ended.valid(); }));
    EXPECT_EQ(refusal(ended), errc::lost);
    auto released = of_a->acquire();
    released.release();
    EXPECT_EQ(refusal(released), errc::not_owner);
}

TEST_P(recursive_contract, expired_hold_cannot_be_reentered) {
    const auto of_a = lock_of(a(), stock, {.ttl = 2s});
    of_a->lock();
    EXPECT_TRUE(eventually(patience, [&] { return !of_a->valid(); }));
    EXPECT_THROW(of_a->lock(), error);
    of_a->unlock();
    of_a->lock();
    EXPECT_TRUE(of_a->valid());
    of_a->unlock();
}

TEST_P(recursive_contract, nested_hold_never_shortens_the_outer_lease) {
    const auto of_a = lock_of(a(), stock, {.ttl = 20s});
    auto outer = of_a->acquire();
    const auto before = outer.deadline();
    auto inner = nested(of_a, outer);
    inner.release();
    EXPECT_GE(outer.deadline(), before);
    EXPECT_TRUE(outer.valid());
}

TEST_P(recursive_contract, nested_lock_without_a_ttl_is_renewed_inside_one_with_a_ttl) {
    const auto with_ttl = lock_of(a(), stock, {.ttl = 3s});
    const auto without_ttl = lock_of(a());
    with_ttl->lock();
    const auto end = boot_clock::now() + 3s;
    without_ttl->lock();
    EXPECT_TRUE(eventually(patience, [&] { return boot_clock::now() > end; }));
    EXPECT_TRUE(without_ttl->valid());
    without_ttl->unlock();
    with_ttl->unlock();
    EXPECT_TRUE(lock_of(b())->try_acquire());
}

}  // namespace holdfast::contract
