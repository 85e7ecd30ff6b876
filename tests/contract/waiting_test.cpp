// Waits that are cancelled or time out.
#include "contract/lock_contract.hpp"

namespace holdfast::contract {

TEST_P(lock_contract, cancelled_wait_ends_promptly_and_leaves_nothing_behind) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    auto held = of_a->acquire();
    std::stop_source stop;
    auto waiting = in_background([&] {
        std::error_code ec;
        EXPECT_FALSE(of_b->acquire({.stop = stop.get_token()}, ec));
        EXPECT_EQ(ec, errc::cancelled);
        return boot_clock::now();
    });
    ASSERT_TRUE(has_waiter(b()));
    const auto asked = boot_clock::now();
    stop.request_stop();
    EXPECT_LT(waiting.get() - asked, 500ms);
    EXPECT_TRUE(queue_has(0));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(of_b->try_acquire()) << "the cancelled waiter was granted the lock";
    EXPECT_TRUE(nothing_is_left());
    EXPECT_EQ(b().stats().failed, 1U);
}

TEST_P(lock_contract, wait_for_a_thread_of_the_same_client_can_be_cancelled) {
    const auto of_a = lock_of(a());
    const auto held = of_a->acquire();
    std::stop_source stop;
    std::atomic<bool> begun{false};
    auto waiting = in_background([&] {
        std::error_code ec;
        begun = true;
        EXPECT_FALSE(of_a->acquire({.stop = stop.get_token()}, ec));
        return ec;
    });
    EXPECT_TRUE(eventually(patience, [&] { return begun.load(); }));
    stop.request_stop();
    EXPECT_EQ(waiting.get(), errc::cancelled);
    EXPECT_TRUE(held.valid());
}

TEST_P(lock_contract, acquire_with_a_stopped_token_does_not_begin) {
    const auto of_a = lock_of(a());
    std::stop_source stop;
    stop.request_stop();
    std::error_code ec;
    EXPECT_FALSE(of_a->acquire({.stop = stop.get_token()}, ec));
    EXPECT_EQ(ec, errc::cancelled);
    EXPECT_THROW((void)of_a->acquire({.stop = stop.get_token()}), error);
    EXPECT_TRUE(nothing_is_left());
    EXPECT_TRUE(lock_of(b())->try_acquire());
}

TEST_P(lock_contract, cancelling_at_any_moment_leaves_the_lock_usable) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    for (int round = 0; round < 60; ++round) {
        std::stop_source stop;
        auto held = of_a->acquire();
        const auto before = b().stats().attempts.busy;
        auto waiting = in_background([&] {
            std::error_code ec;
            return of_b->acquire({.stop = stop.get_token()}, ec);
        });
        // The release, the wake, the attempt and the cancellation meet in every order.
        if (round % 3 != 0)
            (void)eventually(1ms * (round % 7), [&] { return b().stats().attempts.busy > before; });
        std::jthread canceller{[&] { stop.request_stop(); }};
        held.release();
        const auto got = waiting.get();
        EXPECT_TRUE(!got || got.valid());
    }
    EXPECT_TRUE(of_a->try_acquire_for(2s)) << "a grant was left behind";
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(lock_contract, timeout_at_the_moment_of_the_grant_leaves_the_lock_usable) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    for (int round = 0; round < 40; ++round) {
        auto held = of_a->acquire();
        auto waiting = in_background([&] {
            std::error_code ec;
            auto got = of_b->try_acquire_for(std::chrono::microseconds{2'000}, ec);
            // On a busy machine the answer may take longer than the wait, or the request is not sent in time.
            EXPECT_TRUE(!ec || ec == errc::unknown_outcome || ec == errc::unavailable) << ec;
            return got;
        });
        const auto moment = boot_clock::now() + std::chrono::microseconds{1'700 + 20 * round};
        EXPECT_TRUE(eventually(1s, [&] { return boot_clock::now() >= moment; }));
        held.release();
        const auto got = waiting.get();
        EXPECT_TRUE(!got || got.valid());
    }
    EXPECT_TRUE(of_a->try_acquire_for(2s)) << "a grant was left behind";
    EXPECT_TRUE(nothing_is_left());
}

}  // namespace holdfast::contract
