// Mutual exclusion, and the order of service.
#include "contract/lock_contract.hpp"
#include "support/stalls.hpp"

namespace holdfast::contract {

TEST_P(lock_contract, one_of_sixteen_threads_of_two_clients_holds_it_at_a_time) {
    constexpr int threads_each = 8;
    constexpr int rounds = 15;
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    // A load and a store: only the lock makes them one increment.
    std::atomic<int> counter{0};
    std::atomic<int> inside{0};
    std::atomic<bool> overlapped{false};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 2 * threads_each; ++i) {
            threads.emplace_back([&, mine = i % 2 == 0 ? of_a : of_b] {
                for (int round = 0; round < rounds; ++round) {
                    const std::lock_guard hold{*mine};
                    if (inside.exchange(1) != 0) overlapped = true;
                    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                    if (inside.exchange(0) != 1) overlapped = true;
                }
            });
        }
    }
    EXPECT_FALSE(overlapped);
    EXPECT_EQ(counter, 2 * threads_each * rounds);
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(lock_contract, try_returns_an_empty_lease_while_another_holds_the_lock) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    auto held = of_a->acquire();
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(of_b->try_acquire());
    EXPECT_FALSE(of_b->try_lock());
    std::error_code ec = errc::lost;
    EXPECT_FALSE(of_b->try_acquire(ec));
    EXPECT_FALSE(ec) << "a refusal is not an error";
    EXPECT_FALSE(of_a->try_acquire()) << "another thread of the same client is excluded, too";
    held.release();
    EXPECT_TRUE(of_b->try_acquire());
}

TEST_P(lock_contract, timed_try_waits_about_its_time_limit) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    const auto held = of_a->acquire();
    for (const auto wait : {30ms, 250ms}) {
        const auto begun = boot_clock::now();
        EXPECT_FALSE(of_b->try_acquire_for(wait));
        const auto took = boot_clock::now() - begun;
        EXPECT_GE(took, wait);
        EXPECT_LT(took, wait + 500ms + test::taken_by_the_machine());
    }
    EXPECT_TRUE(queue_has(0)) << "a waiter that gave up has left the queue";
}

TEST_P(lock_contract, waiter_enters_soon_after_the_release) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    // The machine may be busy, so the best of a few counts.
    auto best = boot_clock::duration::max();
    for (int round = 0; round < 5; ++round) {
        auto held = of_a->acquire();
        const auto before = b().stats().attempts.busy;
        auto entered = in_background([&] {
            const auto mine = of_b->acquire();
            return boot_clock::now();
        });
        ASSERT_TRUE(eventually(patience,
                               [&] { return b().stats().attempts.busy >= before + refusals_of_a_waiter(); }));
        const auto released = boot_clock::now();
        EXPECT_EQ(held.release(), release_outcome::released);
        best = std::min(best, entered.get() - released);
    }
    EXPECT_LT(best, 100ms);
}

TEST_P(queue_contract, clients_are_served_in_the_order_of_arrival) {
    const auto of_a = lock_of(a());
    auto held = of_a->acquire();
    std::mutex mutex;
    std::vector<int> order;
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 5; ++i) {
        clients.push_back(another_client());
        waiters.emplace_back([&, i, mine = lock_of(*clients.back())] {
            const auto turn = mine->acquire();
            const std::lock_guard hold{mutex};
            order.push_back(i);
        });
        ASSERT_TRUE(queue_has(static_cast<std::size_t>(i) + 1));
    }
    held.release();
    waiters.clear();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST_P(mutex_contract, clients_with_many_threads_are_served_in_turn) {
    auto each_alone = settings();
    each_alone.local_turns = 1;
    client first{each_alone};
    client second{each_alone};
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(first);
    std::mutex mutex;
    std::vector<char> order;
    {
        auto held = of_a->acquire();
        std::vector<std::jthread> waiters;
        const auto wait_as = [&](char who, const any_lock& lock) {
            waiters.emplace_back([&, who, lock] {
                const auto turn = lock->acquire();
                std::size_t turns = 0;
                {
                    const std::lock_guard hold{mutex};
                    order.push_back(who);
                    turns = order.size();
                }
                // Hold the lock until the next thread of the previous client is in the queue.
                if (turns < 8) {
                    EXPECT_TRUE(queue_has(1));
                }
            });
        };
        for (int i = 0; i < 4; ++i) wait_as('b', of_b);
        ASSERT_TRUE(queue_has(1));
        const auto of_c = lock_of(second);
        for (int i = 0; i < 4; ++i) wait_as('c', of_c);
        ASSERT_TRUE(queue_has(2));
        held.release();
        waiters.clear();
    }
    // Each hand-off goes to the client that has waited longer.
    EXPECT_EQ((std::string{order.begin(), order.end()}), "bcbcbcbc");
}

TEST_P(lock_contract, lock_of_another_kind_on_the_name_is_misuse) {
    const auto of_a = lock_of(a());
    const auto held = of_a->acquire();
    std::error_code ec;
    if (is_mutex()) {
        recursive_mutex other{b(), stock};
        EXPECT_FALSE(other.try_acquire(ec));
    } else {
        mutex other{b(), stock};
        EXPECT_FALSE(other.try_acquire(ec));
    }
    const bool has_the_other = can().has_kind(is_mutex() ? kind::recursive : kind::native);
    if (can().has.votes || !has_the_other)
        EXPECT_EQ(ec, condition::misuse) << "any misuse";
    else
        EXPECT_EQ(ec, errc::wrong_kind);
    EXPECT_TRUE(held.valid());
}

}  // namespace holdfast::contract
