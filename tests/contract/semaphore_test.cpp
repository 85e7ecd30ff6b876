// Semaphores: permits with an owner, which are free again when their lease expires.
#include "contract/lock_contract.hpp"
#include "support/stalls.hpp"

#include <atomic>
#include <limits>

namespace holdfast::contract {

class semaphore_contract : public lock_contract {
  protected:
    using semaphore = std::shared_ptr<semaphore_base>;

    [[nodiscard]] semaphore of(client& on, const semaphore_options& options = {}) const {
        if (GetParam().of == kind::permit_semaphore)
            return std::make_shared<permit_semaphore>(on, stock, options);
        return std::make_shared<counting_semaphore>(on, stock, options);
    }
    [[nodiscard]] bool has_free(std::int64_t n) {
        return eventually(patience, [&] { return of(b())->available_permits() == n; });
    }
};
class counting_contract : public semaphore_contract {
  protected:
    [[nodiscard]] static counting_semaphore on(client& c) { return {c, stock}; }
};

TEST_P(semaphore_contract, semaphore_has_no_permits_until_the_total_is_set) {
    EXPECT_FALSE(of(a())->try_acquire());
    EXPECT_EQ(of(a())->available_permits(), 0);
    EXPECT_TRUE(of(b())->try_set_permits(3));
    EXPECT_FALSE(of(a())->try_set_permits(5));
    EXPECT_EQ(of(a())->available_permits(), 3);
    EXPECT_TRUE(of(a())->try_acquire());
    EXPECT_THROW(of(a())->try_set_permits(-1), error);
}

TEST_P(semaphore_contract, first_acquire_with_a_total_sets_the_total) {
    auto waiter = in_background([&] { return of(b())->acquire({.permits = 2}); });
    ASSERT_TRUE(has_waiter(b()));
    const auto one = of(a(), {.total = 3})->acquire();
    EXPECT_TRUE(one.valid());
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_TRUE(has_free(2));
    EXPECT_TRUE(of(a(), {.total = 7})->try_acquire());  // the total is set already
    EXPECT_TRUE(has_free(2));
    EXPECT_THROW((void)of(a(), {.total = -1}), error);
}

TEST_P(semaphore_contract, holders_never_exceed_the_permits) {
    of(a())->try_set_permits(2);
    auto one = of(a())->acquire();
    auto two = of(b())->acquire();
    EXPECT_TRUE(one.valid() && two.valid());
    EXPECT_FALSE(of(a())->try_acquire());
    EXPECT_FALSE(of(b())->try_acquire_for(20ms));
    EXPECT_EQ(one.release(), release_outcome::released);
    EXPECT_EQ(one.release(), release_outcome::released);  // the same answer; the permit was returned once
    EXPECT_TRUE(has_free(1));
    two.release();
    EXPECT_TRUE(has_free(2));
}

TEST_P(semaphore_contract, acquire_takes_all_its_permits_or_none) {
    of(a())->try_set_permits(5);
    auto three = of(a())->acquire({.permits = 3});
    EXPECT_EQ(of(b())->available_permits(), 2);
    EXPECT_FALSE(of(b())->try_acquire({.permits = 3}));
    EXPECT_EQ(of(b())->available_permits(), 2);
    auto two = of(b())->acquire({.permits = 2});
    EXPECT_EQ(of(b())->available_permits(), 0);
    EXPECT_EQ(three.release(), release_outcome::released);
    EXPECT_TRUE(has_free(3));
}

TEST_P(semaphore_contract, acquire_of_a_wrong_number_of_permits_is_refused) {
    std::error_code ec;
    EXPECT_FALSE(of(a())->try_acquire({.permits = 0}, ec));
    EXPECT_EQ(ec, errc::invalid_argument);
    mutex plain{a(), "plain"};
    EXPECT_FALSE(plain.try_acquire({.permits = 2}, ec));
    EXPECT_EQ(ec, errc::invalid_argument);
}

TEST_P(semaphore_contract, waiter_is_woken_by_released_permits) {
    of(a())->try_set_permits(1);
    auto held = of(a())->acquire();
    auto waiter = in_background([&] { return of(b())->acquire(); });
    ASSERT_TRUE(has_waiter(b()));
    const auto since = boot_clock::now();
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(boot_clock::now() - since,
              800ms + test::taken_by_the_machine());  // a message: the poll gap is a second
}

TEST_P(semaphore_contract, waiter_is_woken_when_the_total_is_set_or_raised) {
    auto first = in_background([&] { return of(b())->acquire(); });
    ASSERT_TRUE(has_waiter(b()));
    of(a())->try_set_permits(1);
    auto one = first.get();
    EXPECT_TRUE(one.valid());
    const auto refused_before = b().stats().attempts.busy;
    auto second = in_background([&] { return of(b())->acquire({.permits = 2}); });
    ASSERT_TRUE(eventually(
        patience, [&] { return b().stats().attempts.busy >= refused_before + refusals_of_a_waiter(); }));
    EXPECT_EQ(of(a())->add_permits(2), 2);
    EXPECT_TRUE(second.get().valid());
}

TEST_P(semaphore_contract, total_may_be_lowered_below_the_permits_held) {
    of(a())->try_set_permits(2);
    auto one = of(a())->acquire();
    auto two = of(a())->acquire();
    EXPECT_EQ(of(b())->add_permits(-1), -1);
    one.release();
    EXPECT_TRUE(has_free(0));
    EXPECT_FALSE(of(b())->try_acquire());
    two.release();
    EXPECT_TRUE(of(b())->try_acquire());
}

TEST_P(semaphore_contract, permits_of_an_expired_lease_are_free_again) {
    of(a())->try_set_permits(3);
    auto held = of(a())->acquire({.ttl = 1s, .permits = 3});
    auto waiter = in_background([&] { return of(b())->acquire({.permits = 2}); });
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(has_free(3));
}

TEST_P(semaphore_contract, held_permits_are_renewed) {
    of(a())->try_set_permits(2);
    auto held = of(a())->acquire({.ttl = 3s, .renew = true, .permits = 2});
    ASSERT_TRUE(eventually(patience, [&] { return a().stats().renewals >= 4; }));
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(of(b())->try_acquire());
    held.release();
    EXPECT_TRUE(has_free(2));
}

TEST_P(semaphore_contract, client_that_ends_releases_its_permits) {
    of(b())->try_set_permits(2);
    auto held = of(a())->acquire({.permits = 2});
    a_leaves();
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(has_free(2));
}

TEST_P(semaphore_contract, small_try_succeeds_beside_a_waiter_for_too_many_permits) {
    of(a())->try_set_permits(3);
    std::stop_source enough;
    auto waiter = in_background([&] {
        std::error_code ec;
        (void)of(a())->acquire({.stop = enough.get_token(), .permits = 4}, ec);
        return ec;
    });
    ASSERT_TRUE(has_waiter(a()));
    EXPECT_TRUE(of(a())->try_acquire({.permits = 3}));
    enough.request_stop();
    EXPECT_EQ(waiter.get(), errc::cancelled);
    EXPECT_TRUE(has_free(3));
}

TEST_P(semaphore_contract, threads_of_two_clients_never_hold_too_many_permits) {
    constexpr int permits = 3;
    of(a())->try_set_permits(permits);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::vector<std::future<int>> threads;
    for (int i = 0; i < 8; ++i) {
        threads.push_back(in_background([&, i] {
            const auto mine = of(i % 2 == 0 ? a() : b());
            int served = 0;
            for (int n = 0; n < 25; ++n) {
                const std::uint32_t wanted = 1 + static_cast<std::uint32_t>(n + i) % 2;
                const auto held = mine->acquire({.permits = wanted});
                const int now = inside += static_cast<int>(wanted);
                for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
                }
                served += held.valid() ? 1 : 0;
                inside -= static_cast<int>(wanted);
            }
            return served;
        }));
    }
    int served = 0;
    for (auto& t : threads) served += t.get();
    EXPECT_EQ(served, 8 * 25);
    EXPECT_LE(most, permits);
    EXPECT_GE(most, 2);
    EXPECT_TRUE(has_free(permits));
}

TEST_P(semaphore_contract, permit_counts_are_limited_to_2_to_the_53) {
    constexpr auto most = std::int64_t{1} << 53;
    EXPECT_THROW(of(a())->try_set_permits(most + 1), error);
    EXPECT_THROW(of(a())->add_permits(std::numeric_limits<std::int64_t>::min()), error);
    EXPECT_TRUE(of(a())->try_set_permits(most));
    EXPECT_EQ(of(a())->available_permits(), most);
    EXPECT_EQ(of(a())->add_permits(-1), most - 1);
}

TEST_P(semaphore_contract, lock_and_semaphore_cannot_share_a_name) {
    const any_lock lock = can().has_kind(kind::recursive)
                              ? any_lock{std::make_shared<recursive_mutex>(a(), stock)}
                              : any_lock{std::make_shared<mutex>(a(), stock)};
    auto held = lock->acquire();
    std::error_code ec;
    EXPECT_FALSE(of(b())->try_acquire(ec));
    EXPECT_EQ(ec, errc::wrong_kind);
    try {
        of(b())->try_set_permits(3);
        ADD_FAILURE() << "a number was written over a lock";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::wrong_kind) << e.what();
    }
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    of(b())->try_set_permits(3);
    EXPECT_FALSE(lock->try_acquire(ec));
    EXPECT_EQ(ec, errc::wrong_kind);
}

TEST_P(semaphore_contract, inspect_shows_holders_and_evict_frees_their_permits) {
    if (!can().inspection) GTEST_SKIP() << "this store does not show its locks";
    of(a())->try_set_permits(5);
    auto held = of(a())->acquire({.permits = 3});
    const auto seen = inspect(b(), stock);
    EXPECT_TRUE(names_this_kind(seen.layout)) << seen.layout;
    EXPECT_EQ(seen.count, 2);
    std::uint32_t out = 0;
    for (const auto& h : seen.holders) out += h.holds;
    EXPECT_EQ(out, 3U);
    EXPECT_FALSE(seen.holders.empty());
    EXPECT_EQ(list(b(), "stock*").size(), 1U);
    EXPECT_TRUE(evict(b(), stock));
    EXPECT_TRUE(has_free(5));
    EXPECT_TRUE(eventually(patience, [&] { return held.release() == release_outcome::already_lost; }));
    EXPECT_EQ(of(a())->available_permits(), 5);
}

TEST_P(semaphore_contract, inspect_counts_expired_permits_as_free) {
    if (!can().inspection) GTEST_SKIP() << "this store does not show its locks";
    of(a())->try_set_permits(3);
    const auto held = of(a())->acquire({.ttl = 2s, .permits = 2});
    EXPECT_EQ(inspect(b(), stock).count, 1);
    EXPECT_TRUE(eventually(patience, [&] { return inspect(b(), stock).holders.empty(); }));
    EXPECT_EQ(inspect(b(), stock).count, 3);
    EXPECT_TRUE(list(b(), "stock*").empty());
}

TEST_P(semaphore_contract, client_that_ends_fails_its_waiters) {
    auto waiter = in_background([mine = of(a())] {
        std::error_code ec;
        (void)mine->acquire(ec);
        return ec;
    });
    ASSERT_TRUE(has_waiter(a()));
    a_leaves();
    EXPECT_EQ(waiter.get(), errc::closed);
}

// --- without an owner -------------------------------------------------------------------------------

TEST_P(counting_contract, taken_permits_have_no_owner) {
    on(b()).try_set_permits(3);
    on(a()).take(2);
    EXPECT_EQ(a().stats().held_now, 0U);
    a_leaves();
    EXPECT_EQ(on(b()).available_permits(), 1);
    EXPECT_FALSE(on(b()).try_take(2));
    EXPECT_FALSE(on(b()).try_take_for(20ms, 2));
    on(b()).give(2);
    EXPECT_TRUE(on(b()).try_take(3));
    EXPECT_EQ(on(b()).available_permits(), 0);
}

TEST_P(counting_contract, give_wakes_a_waiting_take) {
    auto taker = in_background([&] { on(b()).take(); });
    ASSERT_TRUE(has_waiter(b()));
    on(a()).give();
    taker.get();
    EXPECT_EQ(on(a()).available_permits(), 0);
}

TEST_P(counting_contract, stop_token_ends_a_waiting_take) {
    std::stop_source enough;
    auto taker = in_background([&] { return code_of([&] { on(a()).take(2, enough.get_token()); }); });
    auto timed = in_background(
        [&] { return code_of([&] { (void)on(b()).try_take_for(patience, 1, enough.get_token()); }); });
    ASSERT_TRUE(has_waiter(a()));
    ASSERT_TRUE(has_waiter(b()));
    enough.request_stop();
    EXPECT_EQ(taker.get(), errc::cancelled);
    EXPECT_EQ(timed.get(), errc::cancelled);
    on(a()).try_set_permits(1);
    EXPECT_EQ(on(a()).available_permits(), 1);
}

TEST_P(counting_contract, drain_sets_the_free_permits_to_zero) {
    EXPECT_EQ(on(a()).drain_permits(), 0);
    on(a()).try_set_permits(4);
    EXPECT_EQ(on(a()).drain_permits(), 4);
    EXPECT_EQ(on(a()).available_permits(), 0);
    EXPECT_EQ(on(a()).add_permits(-4), -4);
    EXPECT_EQ(on(a()).drain_permits(), -4);
    EXPECT_EQ(on(a()).available_permits(), 0);
}

// --- with ids ---------------------------------------------------------------------------------------

class permit_contract : public semaphore_contract {};

TEST_P(permit_contract, permit_can_be_given_back_by_its_id) {
    permit_semaphore mine{a(), stock};
    permit_semaphore theirs{b(), stock};
    mine.try_set_permits(2);
    auto held = mine.acquire();
    const auto id = held.owner().str();
    EXPECT_EQ(id.size(), 32U);
    EXPECT_TRUE(theirs.release(id));
    EXPECT_FALSE(theirs.release(id));
    EXPECT_EQ(theirs.available_permits(), 2);
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_EQ(theirs.available_permits(), 2);
    auto both = mine.acquire({.permits = 2});
    EXPECT_TRUE(theirs.release(both.owner().str()));
    EXPECT_EQ(theirs.available_permits(), 2);
    const std::string id_of_ones(32, 'f');
    EXPECT_FALSE(theirs.release(id_of_ones));
    EXPECT_FALSE(theirs.release(id_of_ones + "*1000"));
    for (const auto& wrong : {"nonsense"s, ""s, "*2"s, id_of_ones + "x", id_of_ones + "*", id_of_ones + "*0",
                              id_of_ones + "*-1", id_of_ones + "*5x", id_of_ones + "*4000000000"})
        EXPECT_THROW((void)theirs.release(wrong), error) << wrong;
}

TEST_P(permit_contract, acquire_of_more_than_a_thousand_permits_is_refused) {
    permit_semaphore mine{a(), stock};
    mine.try_set_permits(5000);
    EXPECT_TRUE(mine.acquire({.permits = 1000}).valid());
    std::error_code ec;
    EXPECT_FALSE(mine.try_acquire({.permits = 1001}, ec));
    EXPECT_EQ(ec, errc::invalid_argument);
}

HOLDFAST_INSTANTIATE_CONTRACT(semaphore_contract, needs::permits);
HOLDFAST_INSTANTIATE_CONTRACT(counting_contract, needs::the_kind<kind::semaphore>);
HOLDFAST_INSTANTIATE_CONTRACT(permit_contract, needs::the_kind<kind::permit_semaphore>);

}  // namespace holdfast::contract
