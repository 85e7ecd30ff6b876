// Several locks as one: all or none.
#include "contract/lock_contract.hpp"
#include "support/sanitizers.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <atomic>
#include <future>
#include <stdexcept>

namespace holdfast::contract {

class multi_lock_contract : public lock_contract {
  protected:
    static constexpr const char* from = "account:7";
    static constexpr const char* to = "account:3";

    any_lock from_of(client& on, lock_options options = {}) const { return lock_of(on, from, options); }
    any_lock to_of(client& on, lock_options options = {}) const { return lock_of(on, to, options); }
    [[nodiscard]] multi_lock both_of(client& on) const { return multi_lock{*from_of(on), *to_of(on)}; }
    [[nodiscard]] bool neither_is_left() { return nothing_is_left(from) && nothing_is_left(to); }
    bool free(const char* name) { return static_cast<bool>(lock_of(b(), name)->try_acquire()); }
};
class multi_lock_kinds_contract : public multi_lock_contract {};  // of different kinds together

TEST_P(multi_lock_contract, lease_holds_all_members_or_none) {
    auto both = both_of(a());
    {
        const auto held = both.acquire();
        EXPECT_TRUE(held.valid());
        EXPECT_EQ(held.state(), lease_state::held);
        EXPECT_FALSE(free(from));
        EXPECT_FALSE(free(to));
        EXPECT_FALSE(both_of(b()).try_acquire());
    }
    EXPECT_TRUE(neither_is_left());

    const auto one = lock_of(b(), from)->acquire();
    EXPECT_FALSE(both.try_acquire());
    EXPECT_TRUE(free(to)) << "it was acquired, and released again";
    EXPECT_FALSE(both.try_acquire_for(500ms * test::slower));
    EXPECT_TRUE(free(to));
}

TEST_P(multi_lock_contract, multi_lock_works_as_a_standard_lock) {
    auto both = both_of(a());
    {
        const std::lock_guard hold{both};
        EXPECT_TRUE(both.held_by_this_thread());
        EXPECT_TRUE(both.valid());
        EXPECT_FALSE(free(from));
        EXPECT_FALSE(free(to));
    }
    EXPECT_FALSE(both.held_by_this_thread());
    {
        const std::unique_lock hold{both, 100ms};
        EXPECT_TRUE(hold.owns_lock());
        EXPECT_FALSE(both_of(b()).try_lock());
    }
    EXPECT_EQ(with_lock(both, [](const lease& held) { return held.valid(); }), true);
    EXPECT_TRUE(neither_is_left());
}

TEST_P(multi_lock_contract, on_wait_receives_the_name_of_the_held_member) {
    std::vector<std::string> waited_for;
    const auto x = from_of(a());
    const auto y = to_of(a());
    const std::array<const leasable*, 2> members{x.get(), y.get()};
    multi_lock both(members, {.on_wait = [&](const lock_name& name) { waited_for.push_back(name.str()); }});
    auto last = lock_of(b(), from)->acquire();
    auto waiting = in_background([&] { return both.acquire(); });
    ASSERT_TRUE(has_waiter(a()));
    EXPECT_TRUE(last.release());
    auto held = waiting.get();
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    // The multi_lock waits for the lock that is first by name without a call: it then holds nothing.
    EXPECT_EQ(waited_for, std::vector{std::string{from}});
    EXPECT_TRUE(neither_is_left());
}

TEST_P(multi_lock_contract, order_of_the_members_does_not_matter) {
    // Eight threads of two clients; half of them name the locks in reverse.
    std::atomic<int> inside{0};
    std::atomic<int> turns{0};
    std::vector<std::future<void>> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(in_background([&, i] {
            auto& on = i % 2 == 0 ? a() : b();
            const auto x = from_of(on);
            const auto y = to_of(on);
            multi_lock both = i % 4 < 2 ? multi_lock{*x, *y} : multi_lock{*y, *x};
            for (int n = 0; n < 10; ++n) {
                const auto held = both.acquire();
                EXPECT_EQ(inside.fetch_add(1), 0);
                EXPECT_TRUE(held.valid());
                inside.fetch_sub(1);
                ++turns;
            }
        }));
    }
    for (auto& one : all) one.get();
    EXPECT_EQ(turns, 80);
    EXPECT_TRUE(neither_is_left());
}

TEST_P(multi_lock_contract, loss_of_one_member_is_loss_of_all) {
    if (!can().inspection) GTEST_SKIP() << "this store does not show its locks";
    auto both = both_of(a());
    auto held = both.acquire();
    auto lost = held.lost_token();
    EXPECT_FALSE(lost.stop_requested());
    std::atomic<bool> called{false};
    const std::stop_callback on_loss(lost, [&] { called = true; });
    ASSERT_TRUE(evict(b(), to));
    EXPECT_TRUE(eventually(patience, [&] {
        // Without messages the next renewal or the release finds it out.
        return called.load() || held.release() == release_outcome::already_lost;
    }));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(neither_is_left());
}

TEST_P(multi_lock_contract, deadline_is_the_earliest_of_its_members) {
    const auto x = from_of(a(), {.ttl = 20s});
    const auto y = to_of(a(), {.ttl = 10s});
    multi_lock both{*x, *y};
    auto held = both.acquire();
    EXPECT_LE(held.remaining(), 10s);
    EXPECT_GT(held.remaining(), 1s);
    EXPECT_TRUE(held.release());
    auto longer = both.acquire({.ttl = 30s});
    EXPECT_GT(longer.remaining(), 20s) << "the ttl of the call comes first";
}

TEST_P(multi_lock_contract, cancelled_wait_releases_the_members_it_held) {
    auto both = both_of(a());
    const auto other = lock_of(b(), from)->acquire();
    std::stop_source stop;
    auto waiting = in_background([&] {
        std::error_code ec;
        EXPECT_FALSE(both.acquire({.stop = stop.get_token()}, ec));
        return ec;
    });
    ASSERT_TRUE(has_waiter(a()));
    stop.request_stop();
    EXPECT_EQ(waiting.get(), errc::cancelled);
    EXPECT_TRUE(free(to));
}

TEST_P(multi_lock_contract, async_acquire_takes_all_members) {
    boost::asio::io_context loop;
    auto both = both_of(a());
    auto first = async_acquire(both, boost::asio::use_future);
    auto held = first.get();
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(free(from));
    EXPECT_FALSE(free(to));
    auto of_b = both_of(b());
    auto second = async_try_acquire_for(of_b, 50ms, boost::asio::use_future);
    EXPECT_FALSE(second.get());
    auto third = async_acquire(both, boost::asio::use_future);
    EXPECT_EQ(async_release(std::move(held), boost::asio::use_future).get().outcome,
              release_outcome::released);
    EXPECT_TRUE(third.get().valid());
    EXPECT_TRUE(eventually(patience, [&] { return neither_is_left(); }));
}

// The client's own thread renews leases meanwhile, so it must not run the user's code.
TEST_P(multi_lock_contract, slow_on_wait_blocks_no_async_acquire) {
    // The callback may still run when this test ends, so it owns what it uses.
    const auto called = std::make_shared<std::promise<void>>();
    auto first_call = called->get_future();
    std::promise<void> go_on;
    const auto x = from_of(a());
    const auto y = to_of(a());
    const std::array<const leasable*, 2> members{x.get(), y.get()};
    multi_lock both(members, {.on_wait = [called, wait = go_on.get_future().share()](const lock_name&) {
                        called->set_value();
                        wait.wait();
                    }});
    auto last = lock_of(b(), from)->acquire();
    auto waiting = async_acquire(both, boost::asio::use_future);
    EXPECT_EQ(first_call.wait_for(patience), std::future_status::ready);
    auto another = lock_of(a(), "account:9");
    auto meanwhile = async_acquire(*another, boost::asio::use_future);
    EXPECT_EQ(meanwhile.wait_for(patience), std::future_status::ready);
    EXPECT_TRUE(last.release());
    EXPECT_EQ(waiting.wait_for(patience), std::future_status::ready) << "it waits for the callback";
    go_on.set_value();
    EXPECT_TRUE(waiting.get().release());
    EXPECT_TRUE(meanwhile.get().release());
    EXPECT_TRUE(neither_is_left());
}

TEST_P(multi_lock_contract, exception_of_on_wait_is_dropped) {
    std::atomic<int> called{0};
    const auto x = from_of(a());
    const auto y = to_of(a());
    const std::array<const leasable*, 2> members{x.get(), y.get()};
    multi_lock both(members, {.on_wait = [&](const lock_name&) {
                        ++called;
                        throw std::runtime_error("mine");
                    }});
    for (const bool async : {false, true}) {
        auto last = lock_of(b(), from)->acquire();
        auto waiting = async ? async_acquire(both, boost::asio::use_future)
                             : in_background([&] { return both.acquire(); });
        EXPECT_TRUE(eventually(patience, [&] { return called == (async ? 2 : 1); }));
        EXPECT_TRUE(last.release());
        EXPECT_TRUE(waiting.get().release());
    }
    EXPECT_TRUE(neither_is_left());
}

TEST_P(multi_lock_contract, failure_of_one_member_releases_the_others) {
    auto gone = another_client();
    const auto x = from_of(a());
    const auto y = to_of(*gone);
    const auto z = lock_of(a(), "account:1");
    multi_lock all{*x, *y, *z};
    EXPECT_EQ(all.size(), 3U);
    gone.reset();
    EXPECT_EQ(code_of([&] { (void)all.acquire(); }), errc::closed);
    EXPECT_TRUE(free(from));
    EXPECT_TRUE(nothing_is_left("account:1"));
}

TEST_P(multi_lock_contract, duplicate_member_or_empty_list_is_refused) {
    const auto x = from_of(a());
    const auto duplicate = from_of(a());
    EXPECT_EQ(code_of([&] { multi_lock{*x, *duplicate}; }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { multi_lock{std::span<const leasable* const>{}}; }), errc::invalid_argument);
}

TEST_P(multi_lock_kinds_contract, multi_lock_may_contain_multi_locks_and_different_kinds) {
    auto both = both_of(a());
    mutex numbered(a(), "numbered", {.fenced = true});
    counting_semaphore seats(a(), "seats", {.total = 3});
    multi_lock all{both, numbered, seats};
    EXPECT_EQ(all.size(), 4U);
    {
        auto held = all.acquire({.permits = 2});
        EXPECT_EQ(held.fence(), fence::none);
        const auto fences = all.fences(held);
        ASSERT_EQ(fences.size(), 4U);
        EXPECT_EQ(fences[0] != fence::none, has_fence());
        EXPECT_NE(fences[2], fence::none);
        EXPECT_EQ(fences[3], fence::none);
        EXPECT_EQ(seats.available_permits(), 1);
        EXPECT_THROW((void)both.fences(held), error);
        multi_lock as_many{both, numbered, *lock_of(a(), "other")};
        EXPECT_THROW((void)as_many.fences(held), error);
        EXPECT_EQ(held.release(), release_outcome::released);
        EXPECT_EQ(held.state(), lease_state::released);
    }
    EXPECT_EQ(seats.available_permits(), 3);
    EXPECT_EQ(code_of([&] { all.lock(); }), errc::invalid_argument) << "a thread holds a semaphore";
    for (const auto* const name : {from, to}) EXPECT_TRUE(free(name));
    EXPECT_TRUE(mutex(b(), "numbered", {.fenced = true}).try_acquire());
}

HOLDFAST_INSTANTIATE_CONTRACT(multi_lock_contract, needs::a_lock);
HOLDFAST_INSTANTIATE_CONTRACT(multi_lock_kinds_contract, needs::a_lock_among_other_kinds);

}  // namespace holdfast::contract
