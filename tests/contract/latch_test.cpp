// Latches: waiting until a count is zero.
#include "contract/lock_contract.hpp"
#include "support/stalls.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace holdfast::contract {

class latch_contract : public lock_contract {
  protected:
    [[nodiscard]] static latch on(client& c) { return {c, stock}; }
};

TEST_P(latch_contract, unset_latch_lets_all_through) {
    EXPECT_EQ(on(a()).count(), 0);
    on(a()).wait();
    EXPECT_TRUE(on(a()).wait_for(0ms));
    EXPECT_EQ(on(a()).count_down(), 0);
    EXPECT_FALSE(on(a()).erase());
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(latch_contract, waits_end_at_zero_and_not_before) {
    EXPECT_TRUE(on(a()).try_set_count(3));
    EXPECT_FALSE(on(b()).try_set_count(5));
    EXPECT_EQ(on(b()).count(), 3);
    EXPECT_EQ(on(b()).count_down(), 2);
    EXPECT_FALSE(on(a()).wait_for(20ms));
    EXPECT_FALSE(on(a()).wait_for(0ms));
    EXPECT_EQ(on(b()).count_down(5), 0);
    EXPECT_TRUE(on(a()).wait_for(0ms));
    EXPECT_TRUE(on(a()).try_set_count(1));  // a latch can be set again
}

TEST_P(latch_contract, zero_wakes_all_waiters) {
    on(a()).try_set_count(2);
    std::vector<std::future<void>> waiters;
    for (auto* const c : {&a(), &a(), &b(), &b()}) waiters.push_back(in_background([c] { on(*c).wait(); }));
    ASSERT_TRUE(has_waiter(a()));
    ASSERT_TRUE(has_waiter(b()));
    on(b()).count_down();
    EXPECT_EQ(waiters.front().wait_for(20ms), std::future_status::timeout);
    const auto since = boot_clock::now();
    on(b()).count_down();
    for (auto& w : waiters) w.get();
    EXPECT_LT(boot_clock::now() - since, 800ms + test::taken_by_the_machine());  // woken by a message
    EXPECT_EQ(a().stats().held_now, 0U);
}

TEST_P(latch_contract, erase_wakes_a_waiter) {
    on(a()).try_set_count(2);
    auto waiter = in_background([&] { return on(b()).wait_for(patience); });
    ASSERT_TRUE(has_waiter(b()));
    EXPECT_TRUE(on(a()).erase());
    EXPECT_TRUE(waiter.get());
}

TEST_P(latch_contract, stop_token_ends_the_wait) {
    on(a()).try_set_count(1);
    std::stop_source enough;
    auto waiter = in_background([&] {
        try {
            on(b()).wait(enough.get_token());
        } catch (const error& e) {
            return e.code();
        }
        return std::error_code{};
    });
    ASSERT_TRUE(has_waiter(b()));
    enough.request_stop();
    EXPECT_EQ(waiter.get(), errc::cancelled);
}

TEST_P(latch_contract, latch_on_the_name_of_a_lock_is_wrong_kind) {
    recursive_mutex lock{a(), stock};
    const auto held = lock.acquire();
    for (const auto& touch : std::vector<std::function<void()>>{
             [&] { on(b()).wait(); }, [&] { on(b()).try_set_count(1); }, [&] { on(b()).count_down(); }}) {
        try {
            touch();
            ADD_FAILURE();
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::wrong_kind) << e.what();
        }
    }
    EXPECT_TRUE(held.valid());
}

TEST_P(latch_contract, counts_of_zero_or_less_are_refused) {
    EXPECT_THROW(on(a()).try_set_count(0), error);
    EXPECT_THROW(on(a()).count_down(0), error);
    EXPECT_THROW(on(a()).count_down(-1), error);
}

TEST_P(latch_contract, coroutine_waits_and_counts_down) {
    namespace asio = boost::asio;
    on(a()).try_set_count(2);
    asio::io_context loop;
    bool early = true;
    std::int64_t left = -1;
    bool through = false;
    asio::co_spawn(
        loop,
        [&]() -> asio::awaitable<void> {
            early = co_await async_wait_for(on(a()), 20ms, asio::use_awaitable);
            left = co_await async_count_down(on(a()), 1, asio::use_awaitable);
            through = co_await async_wait(on(a()), asio::use_awaitable);
        },
        asio::detached);
    auto other = in_background([&] {
        (void)eventually(patience, [&] { return on(b()).count() == 1; });
        on(b()).count_down();
    });
    loop.run();
    other.get();
    EXPECT_FALSE(early);
    EXPECT_EQ(left, 1);
    EXPECT_TRUE(through);
}

HOLDFAST_INSTANTIATE_CONTRACT(latch_contract, needs::the_kind<kind::latch>);

}  // namespace holdfast::contract
