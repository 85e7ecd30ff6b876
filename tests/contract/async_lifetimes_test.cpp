// Locks through Asio when executors, contexts, locks or clients end early.
#include "contract/lock_contract.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace holdfast::contract {

namespace asio = boost::asio;
using boost::system::error_code;

class async_lifetimes : public lock_contract {};

namespace {
bool is_mutex_or_recursive_mutex(const subject& s) { return s.of == kind::native || s.of == kind::recursive; }
}  // namespace

TEST_P(async_lifetimes, coroutines_on_strands_may_race_against_timers) {
    using namespace asio::experimental::awaitable_operators;
    const auto ours = lock_of(a());
    std::atomic<int> ended{0};
    const auto one = [&](int number) -> asio::awaitable<void> {
        asio::steady_timer timer{co_await asio::this_coro::executor};
        for (int round = 0; round < 10; ++round) {
            timer.expires_after(std::chrono::microseconds{50 + 37 * ((number * 7 + round) % 60)});
            auto first =
                co_await (async_acquire(*ours, asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
            if (first.index() == 0)
                co_await async_release(std::get<0>(std::move(first)), asio::use_awaitable);
        }
        ++ended;
    };
    asio::thread_pool pool{4};
    for (int i = 0; i < 40; ++i) asio::co_spawn(asio::make_strand(pool), one(i), asio::detached);
    pool.join();
    EXPECT_EQ(ended, 40);
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(async_lifetimes, busy_strand_delays_no_outcome_on_another_strand) {
    asio::thread_pool pool{2};
    auto busy = asio::make_strand(pool);
    auto idle = asio::make_strand(pool);
    std::promise<void> begun, other_ended;
    asio::post(busy, [&] {
        begun.set_value();
        EXPECT_EQ(other_ended.get_future().wait_for(patience), std::future_status::ready);
    });
    begun.get_future().wait();
    async_try_acquire(*lock_of(a(), "one"), asio::bind_executor(busy, [](error_code, lease) {}));
    ASSERT_TRUE(eventually(patience, [&] { return a().stats().acquired == 1; }));
    async_try_acquire(*lock_of(a(), "two"),
                      asio::bind_executor(idle, [&](error_code, lease) { other_ended.set_value(); }));
    pool.join();
}

TEST_P(async_lifetimes, destroyed_context_cancels_its_waits) {
    const auto of_a = lock_of(a());
    auto held = lock_of(b())->acquire();
    asio::cancellation_signal outlives;
    {
        asio::io_context brief;
        async_acquire(*of_a, asio::bind_executor(brief, asio::bind_cancellation_slot(
                                                            outlives.slot(), [](error_code, lease) {})));
        ASSERT_TRUE(has_waiter(a()));
    }
    EXPECT_TRUE(eventually(patience, [&] { return a().stats().failed == 1; }));
    held.release();
    EXPECT_TRUE(lock_of(b())->try_acquire_for(patience));
    EXPECT_EQ(a().stats().acquired, 0U);
    outlives.emit(asio::cancellation_type::all);
}

TEST_P(async_lifetimes, destroyed_context_releases_an_undelivered_lease) {
    asio::cancellation_signal outlives;
    {
        asio::io_context brief;
        async_acquire(*lock_of(a()),
                      asio::bind_executor(
                          brief, asio::bind_cancellation_slot(outlives.slot(), [](error_code, lease) {})));
        ASSERT_TRUE(eventually(patience, [&] { return a().stats().acquired == 1; }));
    }
    EXPECT_TRUE(lock_of(b())->try_acquire_for(patience));
}

// Sets a flag when it has received a function.
struct flagging_executor {
    asio::io_context::executor_type inner;
    std::atomic<bool>* received;

    asio::io_context& query(asio::execution::context_t) const noexcept { return inner.context(); }
    flagging_executor require(asio::execution::blocking_t::never_t never) const {
        return {asio::require(inner, never), received};
    }
    bool operator==(const flagging_executor&) const noexcept = default;
    template <class F>
    void execute(F f) const {
        inner.execute(std::move(f));
        *received = true;
    }
};

TEST_P(async_lifetimes, context_may_end_as_the_outcome_arrives) {
    std::atomic<int> destroyed_elsewhere{0};
    const auto here = std::this_thread::get_id();
    for (int round = 1; round <= 200; ++round) {
        std::atomic<bool> received{false};
        asio::io_context brief;
        const auto lock = lock_of(a(), std::to_string(round));
        // The handler is destroyed with its context, not by the thread that delivers the outcome.
        const std::shared_ptr<void> watched{nullptr, [&](void*) {
                                                if (std::this_thread::get_id() != here) ++destroyed_elsewhere;
                                            }};
        async_acquire(*lock, asio::bind_executor(flagging_executor{brief.get_executor(), &received},
                                                 [watched](error_code, lease) {}));
        while (!received) std::this_thread::yield();
    }
    EXPECT_EQ(destroyed_elsewhere, 0);
    EXPECT_TRUE(eventually(patience, [&] { return a().stats().released == 200; }));
}

TEST_P(async_lifetimes, lock_object_may_end_before_the_call_begins) {
    asio::io_context loop;
    const auto take = [&]() -> asio::awaitable<lease> {
        const auto brief = lock_of(a());
        return async_acquire(*brief, asio::use_awaitable);
    };
    lease got;
    asio::co_spawn(
        loop, [&]() -> asio::awaitable<void> { got = co_await take(); }, asio::detached);
    loop.run();
    EXPECT_TRUE(got.valid());
    EXPECT_FALSE(lock_of(b())->try_acquire());
}

TEST_P(async_lifetimes, client_may_end_during_acquires_and_releases) {
    asio::thread_pool pool{1};
    for (int round = 0; round < 40; ++round) {
        auto c = another_client();
        const auto lock = lock_of(*c, "one");
        const auto other = lock_of(*c, "two");
        std::atomic<bool> over{false};
        const auto done = std::make_shared<std::atomic<int>>(0);  // handlers may run after this round
        std::jthread tasks{[&] {
            while (!over)
                async_try_acquire(*lock, asio::bind_executor(pool, [done](error_code, lease) { ++*done; }));
        }};
        std::jthread locks{[&] {
            while (!over) {
                std::error_code ec;
                const auto held = other->try_acquire(ec);
                ++*done;
            }
        }};
        EXPECT_TRUE(eventually(patience, [&] { return *done > round; }));
        c.reset();
        over = true;
    }
    pool.join();
}

HOLDFAST_INSTANTIATE_CONTRACT(async_lifetimes, is_mutex_or_recursive_mutex);

}  // namespace holdfast::contract
