// One grant of the store that passes from thread to thread of one client (engine/local_handoff.hpp).
#include "contract/lock_contract.hpp"

#include <random>

namespace holdfast::contract {

TEST_P(local_turns_contract, threads_of_a_client_share_one_grant) {
    constexpr unsigned threads = 4;
    const auto of_a = lock_of(a());
    // Until threads have waited for each other often enough: on a busy machine one may run through alone.
    unsigned counter = 0;
    EXPECT_TRUE(eventually(patience, [&] {
        std::vector<std::jthread> crowd;
        for (unsigned i = 0; i < threads; ++i) {
            crowd.emplace_back([&] {
                for (unsigned round = 0; round < 100; ++round) {
                    const std::lock_guard hold{*of_a};
                    ++counter;
                }
            });
        }
        crowd.clear();
        return a().stats().attempts.granted + 50 < counter;
    }));
    const auto seen = a().stats();
    EXPECT_EQ(seen.acquired, counter);
    EXPECT_EQ(seen.released, counter);
    EXPECT_EQ(seen.held_now, 0U);
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(lock_contract, threads_that_want_different_leases_share_no_grant) {
    const auto renewed = lock_of(a());
    const auto with_ttl = lock_of(a(), stock, {.ttl = 20s});
    std::atomic<bool> over{false};
    std::atomic<bool> wrong{false};
    {
        std::jthread other{[&] {
            while (!over) {
                const auto held = with_ttl->acquire();
                // A grant that was shared would have the deadline of the other lease, which is 30 s away.
                if (held.deadline() > boot_clock::now() + 20s) wrong = true;
            }
        }};
        for (int i = 0; i < 200; ++i) {
            const auto held = renewed->acquire();
            if (held.deadline() < boot_clock::now() + 20s && !keeps_queue()) wrong = true;
        }
        over = true;
    }
    EXPECT_FALSE(wrong);
}

TEST_P(lock_contract, threads_that_give_up_do_not_break_a_shared_grant) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    std::atomic<int> inside{0};
    std::atomic<bool> overlapped{false};
    std::uint64_t counter = 0;
    std::atomic<std::uint64_t> entered{0};
    {
        std::vector<std::jthread> crowd;
        for (unsigned i = 0; i < 8; ++i) {
            crowd.emplace_back([&, i, mine = i % 4 == 3 ? of_b : of_a] {
                std::mt19937 dice{i};
                for (int round = 0; round < 150; ++round) {
                    std::stop_source stop;
                    if (dice() % 8 == 0) stop.request_stop();
                    std::error_code ec;
                    const auto held = mine->try_acquire_for(std::chrono::microseconds{dice() % 3'000},
                                                            {.stop = stop.get_token()}, ec);
                    if (!held) continue;
                    if (inside.exchange(1) != 0) overlapped = true;
                    ++counter;
                    if (inside.exchange(0) != 1) overlapped = true;
                    ++entered;
                }
            });
        }
    }
    EXPECT_FALSE(overlapped);
    EXPECT_EQ(counter, entered);
    EXPECT_GT(entered, 0U);
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(fenced_contract, fences_grow_across_threads_that_share_a_grant) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    std::vector<std::uint64_t> fences;
    {
        std::vector<std::jthread> crowd;
        for (int i = 0; i < 6; ++i) {
            crowd.emplace_back([&, mine = i % 3 == 2 ? of_b : of_a] {
                for (int round = 0; round < 60; ++round) {
                    const auto held = mine->acquire();
                    fences.push_back(to_number(held.fence()));
                }
            });
        }
    }
    EXPECT_EQ(fences.size(), 360U);
    EXPECT_TRUE(std::is_sorted(fences.begin(), fences.end(), std::less_equal<>{})) << "each above the last";
}

}  // namespace holdfast::contract
