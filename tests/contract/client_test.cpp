// The life of a client: its end, and fork().
#include "contract/lock_contract.hpp"
#include "support/forked.hpp"

#include <unistd.h>

namespace holdfast::contract {

TEST_P(lock_contract, held_leases_are_lost_when_their_client_ends) {
    auto held = lock_of(a())->acquire();
    const auto lost = held.lost_token();
    const auto promised = held.strength();
    a_leaves();
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.strength(), promised);
    EXPECT_EQ(held.state(), lease_state::lost);
    EXPECT_TRUE(lost.stop_requested()) << "its destructor runs the callbacks that are due";
    EXPECT_EQ(held.remaining(), 0ns);
    EXPECT_TRUE(lock_of(b())->try_acquire_for(patience)) << "what was held is released";
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_EQ(held.release(), release_outcome::already_lost);
}

TEST_P(lock_contract, client_that_ends_releases_what_its_threads_have_locked) {
    const auto of_a = lock_of(a());
    of_a->lock();
    a_leaves();
    EXPECT_TRUE(lock_of(b())->try_acquire_for(patience));
    EXPECT_FALSE(of_a->valid());
    of_a->unlock();
}

TEST_P(lock_contract, lock_of_an_ended_client_reports_closed) {
    const auto of_a = lock_of(a());
    a_leaves();
    std::error_code ec;
    EXPECT_FALSE(of_a->try_acquire(ec));
    EXPECT_EQ(ec, errc::closed);
    EXPECT_FALSE(of_a->acquire(ec));
    EXPECT_EQ(ec, errc::closed);
    EXPECT_THROW((void)of_a->try_lock(), error);
}

TEST_P(lock_contract, client_that_ends_fails_its_waiters) {
    const auto of_a = lock_of(a());
    const auto held = lock_of(b())->acquire();
    std::vector<std::future<std::error_code>> waiters;
    for (int i = 0; i < 4; ++i) {
        waiters.push_back(in_background([&] {
            std::error_code ec;
            (void)of_a->acquire(ec);
            return ec;
        }));
    }
    ASSERT_TRUE(eventually(patience, [&] { return a().stats().attempts.busy >= 1; }));
    a_leaves();
    for (auto& w : waiters) EXPECT_EQ(w.get(), errc::closed);
}

TEST_P(lock_contract, many_clients_come_and_go) {
    for (int i = 0; i < 20; ++i) {
        const auto c = another_client();
        const auto held = lock_of(*c)->try_acquire_for(patience);
        EXPECT_TRUE(held);
    }
    EXPECT_TRUE(nothing_is_left());
}

// A hand-off is followed by a renewal that no thread waits for; it must not find the store gone.
TEST_P(lock_contract, client_may_end_right_after_a_hand_off) {
    const auto of_a = lock_of(a());
    for (int round = 0; round < 40; ++round) {
        auto held = of_a->acquire();
        auto c = another_client();
        auto brief = in_background([&] {
            (void)lock_of(*c)->acquire();
            c.reset();
        });
        ASSERT_TRUE(
            eventually(patience, [&] { return !keeps_queue() || inspect(b(), stock).queue.size() == 1; }));
        held.release();
        brief.get();
    }
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(lock_contract, stores_of_different_names_have_different_locks) {
    if (!GetParam().store->other_url) GTEST_SKIP() << "this store has one space of names";
    client c{GetParam().store->other_url()};
    const auto here = lock_of(a())->acquire();
    const auto there = lock_of(c)->try_acquire();
    EXPECT_TRUE(there);
    EXPECT_TRUE(here.valid());
    client same{settings()};
    EXPECT_FALSE(lock_of(same)->try_acquire());
}

// --- fork -------------------------------------------------------------------------------------------

TEST_P(lock_contract, forked_child_has_a_dead_client_and_the_parent_still_holds) {
    const auto of_a = lock_of(a());
    auto held = std::make_unique<lease>(of_a->acquire());
    const auto guarded = lock_of(a(), "guarded");
    guarded->lock();
    ASSERT_TRUE(held->valid());

    const int exit_code = test::in_forked_child([&] {
        if (held->valid() || held->remaining() != 0ns || held->state() != lease_state::lost) return 1;
        if (guarded->valid()) return 2;
        try {
            of_a->lock();
            return 3;
        } catch (const error& e) {
            if (e.code() != errc::forked) return 4;
        }
        std::error_code ec;
        if (of_a->try_acquire(ec) || ec != errc::forked) return 5;
        try {
            (void)inspect(a(), stock);
            return 6;
        } catch (const error& e) {
            if (e.code() != errc::forked) return 7;
        }
        try {
            (void)a().on_event([](const event&) {});
            return 8;
        } catch (const error& e) {
            if (e.code() != errc::forked) return 9;
        }
        if (held->release() != release_outcome::already_lost) return 10;
        held.reset();
        guarded->unlock();
        a_leaves();
        return 0;
    });
    EXPECT_EQ(exit_code, 0);

    EXPECT_TRUE(held->valid());
    EXPECT_TRUE(guarded->valid());
    EXPECT_FALSE(lock_of(b())->try_acquire());
    EXPECT_FALSE(lock_of(b(), "guarded")->try_acquire());
    EXPECT_EQ(held->release(), release_outcome::released);
    guarded->unlock();
    EXPECT_TRUE(lock_of(b(), "guarded")->try_acquire());
    EXPECT_EQ(a().stats().lost, 0U);
}

}  // namespace holdfast::contract
