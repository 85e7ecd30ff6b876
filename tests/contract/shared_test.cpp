// Readers and writers of a shared mutex.
#include "contract/lock_contract.hpp"

#include <shared_mutex>

namespace holdfast::contract {

class shared_contract : public lock_contract {
  protected:
    static constexpr auto no_downgrade = "on this store a writer cannot become a reader";

    // One lock on two clients.
    std::unique_ptr<shared_mutex> of_a, of_b;

    void SetUp() override {
        lock_contract::SetUp();
        of_a = std::make_unique<shared_mutex>(a(), stock);
        of_b = std::make_unique<shared_mutex>(b(), stock);
    }
    void TearDown() override {
        of_a.reset();
        of_b.reset();
        lock_contract::TearDown();
    }
};

TEST_P(shared_contract, readers_share_the_lock_and_exclude_writers) {
    auto one = of_a->acquire_shared();
    auto two = of_a->acquire_shared();
    auto three = of_b->acquire_shared();
    EXPECT_TRUE(one.valid() && two.valid() && three.valid());
    EXPECT_FALSE(of_a->try_acquire());
    EXPECT_FALSE(of_b->try_acquire());
    one.release();
    two.release();
    EXPECT_FALSE(of_a->try_acquire());
    EXPECT_EQ(three.release(), release_outcome::released);
    EXPECT_TRUE(of_a->try_acquire());
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(shared_contract, writer_excludes_readers) {
    auto writing = of_a->acquire();
    EXPECT_FALSE(of_a->try_acquire_shared());
    EXPECT_FALSE(of_b->try_acquire_shared());
    EXPECT_FALSE(of_b->try_acquire_shared_for(20ms));
    writing.release();
    EXPECT_TRUE(of_b->try_acquire_shared());
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(shared_contract, release_of_the_writer_admits_all_readers) {
    auto writing = of_a->acquire();
    std::vector<std::future<lease>> readers;
    for (auto* const of : {of_a.get(), of_b.get(), of_b.get()})
        readers.push_back(in_background([of] { return of->acquire_shared(); }));
    ASSERT_TRUE(has_waiter(a()));
    ASSERT_TRUE(has_waiter(b()));
    writing.release();
    // All at once: no reader releases before the last one has its lease.
    std::vector<lease> reading;
    for (auto& r : readers) reading.push_back(r.get());
    for (const auto& r : reading) EXPECT_TRUE(r.valid());
}

TEST_P(shared_contract, release_of_the_last_reader_admits_the_writer) {
    auto one = of_a->acquire_shared();
    auto two = of_a->acquire_shared();
    auto writer = in_background([&] { return of_b->acquire(); });
    ASSERT_TRUE(has_waiter(b()));
    one.release();
    EXPECT_EQ(writer.wait_for(20ms), std::future_status::timeout);
    two.release();
    EXPECT_TRUE(writer.get().valid());
}

TEST_P(shared_contract, lock_works_as_a_standard_shared_mutex) {
    {
        const std::shared_lock here{*of_a};
        std::shared_lock there{*of_b, 100ms};
        EXPECT_TRUE(there);
        EXPECT_FALSE(of_b->try_lock());
        EXPECT_TRUE(of_a->shared_held_by_this_thread());
        there.unlock();
        EXPECT_FALSE(of_b->shared_held_by_this_thread());
    }
    const std::unique_lock writing{*of_b, std::try_to_lock};
    EXPECT_TRUE(writing);
    EXPECT_FALSE(of_a->try_lock_shared());
    EXPECT_FALSE(of_a->try_lock_shared_for(10ms));
}

TEST_P(shared_contract, thread_may_lock_shared_again) {
    of_a->lock_shared();
    of_a->lock_shared();
    of_a->unlock_shared();
    EXPECT_FALSE(of_b->try_acquire());
    of_a->unlock_shared();
    EXPECT_TRUE(of_b->try_acquire());
}

TEST_P(shared_contract, writing_thread_becomes_a_reader_without_a_gap) {
    if (!can().has.downgrades) GTEST_SKIP() << no_downgrade;
    of_a->lock();
    of_a->lock_shared();
    auto reader = in_background([&] { return of_b->acquire_shared(); });
    ASSERT_TRUE(has_waiter(b()));
    EXPECT_EQ(reader.wait_for(20ms), std::future_status::timeout);
    of_a->unlock();
    // A message wakes the reader; it does not wait until the lease of 30 s ends.
    const auto read = reader.get();
    EXPECT_TRUE(read.valid());
    EXPECT_FALSE(of_b->try_acquire());
    EXPECT_FALSE(of_a->held_by_this_thread());
    EXPECT_TRUE(of_a->shared_held_by_this_thread());
    of_a->unlock_shared();
}

TEST_P(shared_contract, write_lease_becomes_a_read_lease) {
    if (!can().has.downgrades) GTEST_SKIP() << no_downgrade;
    auto writing = of_a->acquire();
    auto reading = of_a->acquire_shared(writing);
    EXPECT_FALSE(of_b->try_acquire_shared());
    EXPECT_EQ(writing.release(), release_outcome::released);
    EXPECT_TRUE(of_b->try_acquire_shared());
    EXPECT_FALSE(of_b->try_acquire());
    EXPECT_EQ(reading.release(), release_outcome::released);
    EXPECT_TRUE(of_b->try_acquire());
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(shared_contract, downgraded_writer_excludes_writers_of_its_own_process) {
    if (!can().has.downgrades) GTEST_SKIP() << no_downgrade;
    // In some rounds the next writer waits by then.
    for (int round = 0; round < 10; ++round) {
        auto writing = of_a->acquire();
        auto next = in_background([&] { return of_a->acquire(); });
        auto reading = of_a->acquire_shared(writing);
        EXPECT_EQ(writing.release(), release_outcome::released);
        EXPECT_EQ(next.wait_for(20ms), std::future_status::timeout);
        EXPECT_TRUE(reading.valid());
        reading.release();
        EXPECT_TRUE(next.get().valid());
    }
}

TEST_P(shared_contract, nested_read_may_end_before_the_write) {
    if (!can().has.downgrades) GTEST_SKIP() << no_downgrade;
    auto writing = of_a->acquire();
    of_a->acquire_shared(writing).release();
    EXPECT_TRUE(writing.valid());
    EXPECT_FALSE(of_b->try_acquire_shared());
    EXPECT_EQ(writing.release(), release_outcome::released);
    EXPECT_TRUE(of_b->try_acquire());
}

TEST_P(shared_contract, each_nested_read_holds_the_lock_on_its_own) {
    if (!can().has.downgrades) GTEST_SKIP() << no_downgrade;
    auto writing = of_a->acquire();
    auto first = of_a->acquire_shared(writing);
    auto second = of_a->acquire_shared(writing);
    EXPECT_EQ(first.release(), release_outcome::released);
    EXPECT_EQ(writing.release(), release_outcome::released);
    EXPECT_TRUE(second.valid());
    EXPECT_FALSE(of_b->try_acquire());
    EXPECT_EQ(second.release(), release_outcome::released);
    EXPECT_TRUE(of_b->try_acquire());
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(shared_contract, expired_nested_read_does_not_outlive_the_write) {
    if (!can().has.downgrades) GTEST_SKIP() << no_downgrade;
    auto writing = of_a->acquire();
    auto reading = of_a->acquire_shared(writing, {.ttl = 1s});
    ASSERT_TRUE(eventually(patience, [&] { return reading.state() == lease_state::lost; }));
    EXPECT_EQ(writing.release(), release_outcome::released);
    // The client counts a lease a little shorter than the store does.
    EXPECT_TRUE(of_b->try_acquire_for(patience));
}

TEST_P(shared_contract, expired_write_with_a_nested_read_admits_readers) {
    if (!can().has.downgrades) GTEST_SKIP() << no_downgrade;
    auto writing = of_a->acquire({.ttl = 2s});
    auto reading = of_a->acquire_shared(writing);
    EXPECT_TRUE(of_b->try_acquire_shared_for(patience));
    EXPECT_EQ(writing.state(), lease_state::lost);
    EXPECT_TRUE(reading.valid());
    EXPECT_FALSE(of_b->try_acquire());
}

TEST_P(shared_contract, writer_is_refused_as_a_reader_where_others_could_write_in_between) {
    if (can().has.downgrades) GTEST_SKIP() << "on this store a writer can become a reader";
    auto writing = of_a->acquire();
    EXPECT_EQ(code_of([&] { (void)of_a->acquire_shared(writing); }), errc::would_deadlock);
    EXPECT_TRUE(writing.valid());
    EXPECT_EQ(writing.release(), release_outcome::released);
    of_a->lock();
    EXPECT_EQ(code_of([&] { of_a->lock_shared(); }), errc::would_deadlock);
    EXPECT_FALSE(of_a->try_lock_shared());
    EXPECT_TRUE(of_a->held_by_this_thread());
    of_a->unlock();
    EXPECT_TRUE(of_b->try_acquire_shared());
}

TEST_P(shared_contract, lock_by_a_reading_thread_throws_would_deadlock) {
    of_a->lock_shared();
    try {
        of_a->lock();
        ADD_FAILURE() << "a reader became the writer";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::would_deadlock);
        EXPECT_NE(std::string{e.what()}.find("unlock_shared() first"), std::string::npos) << e.what();
    }
    EXPECT_FALSE(of_a->try_lock());
    of_a->unlock_shared();
    EXPECT_TRUE(of_a->try_lock());
    of_a->unlock();
}

TEST_P(shared_contract, nested_read_needs_a_live_write_lease_of_this_lock) {
    shared_mutex other{a(), "other"};
    const auto refusal = [&](const lease& writing) {
        return code_of([&] { (void)of_a->acquire_shared(writing); });
    };
    EXPECT_EQ(refusal(lease{}), errc::not_owner);
    const auto elsewhere = other.acquire();
    EXPECT_EQ(refusal(elsewhere), errc::not_owner);
    auto ended = briefly(any_lock{any_lock{}, of_a.get()}, 250ms);
    EXPECT_TRUE(eventually(patience, [&] { return !ended.valid(); }));
    EXPECT_EQ(refusal(ended), errc::lost);
}

TEST_P(shared_contract, expired_reader_does_not_end_another_reader) {
    auto stays = of_a->acquire_shared();
    auto goes = of_b->acquire_shared({.ttl = 1s});
    EXPECT_TRUE(eventually(patience, [&] { return goes.state() == lease_state::lost; }));
    EXPECT_TRUE(stays.valid());
    EXPECT_FALSE(of_b->try_acquire());
    EXPECT_EQ(stays.release(), release_outcome::released);
    // The client counts a lease a little shorter than the store does.
    EXPECT_TRUE(of_b->try_acquire_for(patience));
}

TEST_P(shared_contract, short_read_lease_never_shortens_another_read_lease) {
    auto lasting = of_a->acquire_shared({.ttl = 60s});
    {
        auto brief = of_b->acquire_shared({.ttl = 3s, .renew = true});
        const auto renewals = b().stats().renewals;
        EXPECT_TRUE(eventually(patience, [&] { return b().stats().renewals > renewals; }));
        EXPECT_TRUE(brief.valid());
        EXPECT_TRUE(!shows_ttl() || inspect(a(), stock).ttl > 50s);
    }
    EXPECT_TRUE(!shows_ttl() || inspect(a(), stock).ttl > 50s);
    EXPECT_TRUE(lasting.valid());
    EXPECT_EQ(lasting.release(), release_outcome::released);
}

TEST_P(shared_contract, inspect_shows_readers_and_writers) {
    if (!can().inspection) GTEST_SKIP() << "this store does not show its locks";
    auto writing = of_a->acquire();
    ASSERT_EQ(inspect(b(), stock).holders.size(), 1U);
    EXPECT_TRUE(inspect(b(), stock).holders[0].writes);
    writing.release();
    const auto one = of_a->acquire_shared();
    const auto two = of_b->acquire_shared();
    const auto seen = inspect(b(), stock);
    EXPECT_EQ(seen.layout, "shared_mutex");
    ASSERT_EQ(seen.holders.size(), 2U);
    EXPECT_FALSE(seen.holders[0].writes || seen.holders[1].writes);
    EXPECT_TRUE(evict(a(), stock));
    EXPECT_TRUE(of_b->try_acquire());
}

TEST_P(shared_contract, readers_and_writers_exclude_each_other_under_load) {
    std::atomic<int> reading{0};
    std::atomic<int> writing{0};
    std::atomic<bool> wrong{false};
    std::uint64_t counter = 0;
    {
        std::vector<std::jthread> crowd;
        for (int i = 0; i < 8; ++i) {
            auto* const of = i % 2 == 0 ? of_a.get() : of_b.get();
            crowd.emplace_back([&, of, i] {
                for (int round = 0; round < 60; ++round) {
                    if ((round + i) % 4 == 0) {
                        const std::lock_guard hold{*of};
                        if (++writing != 1 || reading != 0) wrong = true;
                        ++counter;
                        --writing;
                    } else {
                        const std::shared_lock hold{*of};
                        ++reading;
                        if (writing != 0) wrong = true;
                        --reading;
                    }
                }
            });
        }
    }
    EXPECT_FALSE(wrong);
    EXPECT_EQ(counter, 120U);
    EXPECT_TRUE(nothing_is_left());
}

HOLDFAST_INSTANTIATE_CONTRACT(shared_contract, needs::the_kind<kind::shared_write>);

}  // namespace holdfast::contract
