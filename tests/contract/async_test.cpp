// Locks through Asio (async.hpp): the same promises without a thread that waits.
#include "contract/lock_contract.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

namespace holdfast::contract {

namespace asio = boost::asio;
using boost::system::error_code;

class async_contract : public lock_contract {
  protected:
    void TearDown() override {
        // Operations that a failed test left behind.
        loop.restart();
        loop.poll();
        lock_contract::TearDown();
    }
    // Runs the loop until `done`.
    template <class Done>
    [[nodiscard]] bool runs_until(Done done) {
        const auto work = asio::make_work_guard(loop);
        return eventually(patience, [&] {
            loop.restart();
            loop.poll();
            return done();
        });
    }

    asio::io_context loop;
};

TEST_P(async_contract, coroutine_acquires_and_releases) {
    const auto of_a = lock_of(a());
    std::optional<release_result> end;
    asio::co_spawn(
        loop,
        [&]() -> asio::awaitable<void> {
            lease held = co_await async_acquire(*of_a, asio::use_awaitable);
            EXPECT_TRUE(held.valid());
            EXPECT_FALSE(lock_of(b())->try_acquire());
            EXPECT_EQ(held.fence() != fence::none, has_fence());
            end = co_await async_release(std::move(held), asio::use_awaitable);
        },
        asio::detached);
    loop.run();  // ends by itself: only a pending operation counts as work
    ASSERT_TRUE(end);
    EXPECT_EQ(*end, release_outcome::released);
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(async_contract, callback_runs_on_its_own_executor) {
    const auto of_a = lock_of(a());
    asio::thread_pool pool{2};
    auto strand = asio::make_strand(pool);
    std::promise<bool> called;
    async_acquire(*of_a, {.ttl = 20s}, asio::bind_executor(strand, [&](error_code ec, lease held) {
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_LE(held.remaining(), 20s);
        called.set_value(strand.running_in_this_thread());
    }));
    EXPECT_TRUE(called.get_future().get());
    pool.join();
}

TEST_P(async_contract, future_waits_for_the_release) {
    const auto held = lock_of(b())->acquire();
    auto none = async_try_acquire(*lock_of(a()), asio::use_future);
    EXPECT_FALSE(none.get());
    auto later = async_acquire(*lock_of(a()), asio::use_future);
    EXPECT_EQ(later.wait_for(20ms), std::future_status::timeout);
    const_cast<lease&>(held).release();
    EXPECT_TRUE(later.get().valid());
}

TEST_P(async_contract, timed_try_gives_up_after_its_time_limit) {
    const auto held = lock_of(b())->acquire();
    std::optional<bool> got;
    const auto since = boot_clock::now();
    async_try_acquire_for(*lock_of(a()), 30ms, asio::bind_executor(loop, [&](error_code ec, lease l) {
        EXPECT_FALSE(ec) << ec.message();
        got = static_cast<bool>(l);
    }));
    EXPECT_TRUE(runs_until([&] { return got.has_value(); }));
    EXPECT_FALSE(*got);
    EXPECT_GE(boot_clock::now() - since, 30ms);
}

TEST_P(async_contract, cancellation_slot_ends_the_wait) {
    auto held = lock_of(b())->acquire();
    asio::cancellation_signal stop;
    std::optional<error_code> why;
    async_acquire(*lock_of(a()),
                  asio::bind_cancellation_slot(
                      stop.slot(), asio::bind_executor(loop, [&](error_code ec, lease) { why = ec; })));
    ASSERT_TRUE(has_waiter(a()));
    stop.emit(asio::cancellation_type::terminal);
    EXPECT_TRUE(runs_until([&] { return why.has_value(); }));
    EXPECT_EQ(*why, asio::error::operation_aborted);
    EXPECT_TRUE(queue_has(0));
    held.release();
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(async_contract, stop_token_ends_the_wait) {
    const auto held = lock_of(b())->acquire();
    std::stop_source stop;
    std::optional<error_code> why;
    async_acquire(*lock_of(a()), {.stop = stop.get_token()},
                  asio::bind_executor(loop, [&](error_code ec, lease) { why = ec; }));
    stop.request_stop();
    EXPECT_TRUE(runs_until([&] { return why.has_value(); }));
    EXPECT_EQ(*why, error_code{make_error_code(errc::cancelled)});
}

TEST_P(async_contract, coroutines_and_threads_of_both_clients_exclude_each_other) {
    constexpr unsigned tasks = 24;
    constexpr unsigned rounds = 12;
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    std::atomic<int> inside{0};
    std::atomic<bool> overlapped{false};
    unsigned counter = 0;
    const auto enter = [&] {
        if (inside.exchange(1) != 0) overlapped = true;
        ++counter;
        inside = 0;
    };
    for (unsigned i = 0; i < tasks; ++i) {
        asio::co_spawn(
            loop,
            [&, lock = i % 2 == 0 ? of_a : of_b]() -> asio::awaitable<void> {
                for (unsigned r = 0; r < rounds; ++r) {
                    lease held = co_await async_acquire(*lock, asio::use_awaitable);
                    enter();
                    if (r % 3 == 0) continue;  // its destructor releases it
                    EXPECT_EQ(co_await async_release(std::move(held), asio::use_awaitable),
                              release_outcome::released);
                }
            },
            asio::detached);
    }
    {
        std::vector<std::jthread> threads;
        for (const auto& lock : {of_a, of_b}) {
            threads.emplace_back([&, lock] {
                for (unsigned r = 0; r < rounds; ++r) {
                    const std::lock_guard hold{*lock};
                    enter();
                }
            });
        }
        threads.emplace_back([&] { loop.run(); });
        threads.emplace_back([&] { loop.run(); });
    }
    EXPECT_FALSE(overlapped);
    EXPECT_EQ(counter, (tasks + 2) * rounds);
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(async_contract, client_that_ends_fails_its_waiters) {
    const auto held = lock_of(b())->acquire();
    const auto of_a = lock_of(a());
    unsigned called = 0;
    for (int i = 0; i < 4; ++i) {
        async_acquire(*of_a, asio::bind_executor(loop, [&](error_code ec, lease) {
            EXPECT_EQ(ec, error_code{make_error_code(errc::closed)});
            ++called;
        }));
    }
    a_leaves();
    EXPECT_TRUE(runs_until([&] { return called == 4; }));
    async_acquire(*of_a, asio::bind_executor(loop, [&](error_code ec, lease) {
        EXPECT_EQ(ec, error_code{make_error_code(errc::closed)});
        ++called;
    }));
    EXPECT_TRUE(runs_until([&] { return called == 5; }));
}

TEST_P(async_contract, destroyed_context_drops_its_handlers) {
    const auto of_a = lock_of(a());
    auto held = lock_of(b())->acquire();
    const auto kept = std::make_shared<int>(0);
    {
        asio::io_context brief;
        for (int i = 0; i < 3; ++i)
            async_acquire(*of_a, asio::bind_executor(brief, [kept](error_code, lease) { ++*kept; }));
        ASSERT_TRUE(has_waiter(a()));
    }
    EXPECT_EQ(kept.use_count(), 1);
    held.release();
    // A lease that is still granted to one of them is released.
    EXPECT_TRUE(lock_of(b())->try_acquire_for(patience));
    EXPECT_EQ(*kept, 0);
}

TEST_P(async_contract, release_of_an_empty_lease_returns_already_lost) {
    std::optional<release_result> end;
    async_release(lease{}, asio::bind_executor(loop, [&](release_result r) { end = r; }));
    EXPECT_TRUE(runs_until([&] { return end.has_value(); }));
    EXPECT_EQ(*end, release_outcome::already_lost);
}

TEST_P(async_contract, invalid_argument_is_an_error_code) {
    std::optional<error_code> why;
    async_acquire(*lock_of(a()), {.ttl = 0ms},
                  asio::bind_executor(loop, [&](error_code ec, lease) { why = ec; }));
    EXPECT_FALSE(why) << "never before the call has returned";
    EXPECT_TRUE(runs_until([&] { return why.has_value(); }));
    EXPECT_EQ(*why, error_code{make_error_code(errc::invalid_argument)});
}

HOLDFAST_INSTANTIATE_CONTRACT(async_contract, needs::a_lock);

}  // namespace holdfast::contract
