// A user callback that blocks delays nothing but itself.
#include "regress/one_process.hpp"
#include "server/scene.hpp"

#include <atomic>
#include <functional>
#include <latch>
#include <optional>
#include <thread>

namespace holdfast::test {
namespace {

config with_short_slow_callback() {
    auto c = in_this_process();
    c.slow_callback = 50ms;
    return c;
}

// Expires soon.
lease brief(mutex& m) { return m.acquire({.ttl = 500ms}); }

using on_loss = std::stop_callback<std::function<void()>>;

// --- losses ------------------------------------------------------------------------------------------

TEST(loss, is_reported_while_a_listener_blocks) {
    gate closed;
    client c{with_short_slow_callback()};
    const auto stuck = c.on_event([&](const event&) { closed.wait(); });
    const gate::opened_at_end opening{closed};
    mutex one{c, "one"};
    mutex other{c, "other"};
    const auto first = brief(one);
    const auto second = brief(other);
    ASSERT_TRUE(closed.blocks(1, patience));
    EXPECT_TRUE(eventually(5s * slower, [&] { return first.lost_token().stop_requested(); }));
    EXPECT_TRUE(eventually(5s * slower, [&] { return second.lost_token().stop_requested(); }));
}

TEST(loss, is_reported_while_the_event_queue_of_a_listener_is_full) {
    gate closed;
    client c{in_this_process()};
    const auto stuck = c.on_event([&](const event&) { closed.wait(); });
    const gate::opened_at_end opening{closed};
    mutex one{c, "one"};
    mutex other{c, "other"};
    auto held = other.acquire({.ttl = 1h});
    const auto lost = held.lost_token();
    while (c.stats().events_dropped == 0) (void)one.try_acquire();
    const auto briefly = brief(one);
    EXPECT_TRUE(eventually(5s * slower, [&] { return briefly.lost_token().stop_requested(); }));
    EXPECT_FALSE(lost.stop_requested());
}

TEST(loss, is_reported_while_the_callbacks_of_other_losses_block) {
    gate closed;
    client c{with_short_slow_callback()};
    std::vector<std::unique_ptr<mutex>> locks;
    std::vector<lease> held;
    std::vector<std::unique_ptr<on_loss>> stuck;
    for (int i = 0; i < 5; ++i) {
        locks.push_back(std::make_unique<mutex>(c, "stuck " + std::to_string(i)));
        held.push_back(brief(*locks.back()));
        stuck.push_back(std::make_unique<on_loss>(held.back().lost_token(), [&] { closed.wait(); }));
    }
    const gate::opened_at_end opening{closed};
    ASSERT_TRUE(closed.blocks(5, 5s * slower)) << "each of them gets a thread";
    mutex other{c, "other"};
    const auto next = brief(other);
    EXPECT_TRUE(eventually(5s * slower, [&] { return next.lost_token().stop_requested(); }));
}

// --- listeners ---------------------------------------------------------------------------------------

TEST(listener, that_blocks_delays_no_other_listener) {
    gate closed;
    client c{in_this_process()};
    const auto stuck = c.on_event([&](const event&) { closed.wait(); });
    const gate::opened_at_end opening{closed};
    const event_recorder other{c};
    mutex one{c, "one"};
    (void)one.acquire();
    ASSERT_TRUE(closed.blocks(1, patience));
    EXPECT_TRUE(other.has(event_kind::released, 5s * slower));
}

TEST(listener, receives_events_in_the_order_in_which_they_happen) {
    client c{with_short_slow_callback()};
    std::mutex guard;
    std::vector<event_kind> seen;
    const auto listening = c.on_event([&](const event& e) {
        const std::lock_guard hold{guard};
        if (e.kind == event_kind::acquired || e.kind == event_kind::released) seen.push_back(e.kind);
    });
    mutex one{c, "one"};
    constexpr std::size_t pairs = 500;
    for (std::size_t i = 0; i < pairs; ++i) (void)one.acquire();
    ASSERT_TRUE(eventually(patience, [&] {
        const std::lock_guard hold{guard};
        return seen.size() == 2 * pairs;
    }));
    for (std::size_t i = 0; i < seen.size(); ++i)
        ASSERT_EQ(seen[i], i % 2 == 0 ? event_kind::acquired : event_kind::released) << "event " << i;
}

TEST(subscription, reset_waits_for_a_running_callback) {
    gate closed;
    client c{in_this_process()};
    std::atomic<bool> ended{false};
    auto listening = c.on_event([&](const event&) {
        closed.wait();
        ended = true;
    });
    mutex one{c, "one"};
    (void)one.acquire();
    ASSERT_TRUE(closed.blocks(1, patience));
    auto opening = in_background([&] { closed.open(); });
    listening.reset();
    EXPECT_TRUE(ended);
}

TEST(subscription, may_be_reset_inside_its_own_callback) {
    client c{in_this_process()};
    mutex one{c, "one"};
    std::mutex guard;
    event_subscription listening;
    std::atomic<int> calls{0};
    std::atomic<bool> over{false};
    {
        const std::lock_guard hold{guard};
        listening = c.on_event([&](const event& e) {
            if (e.kind != event_kind::acquired) return;
            ++calls;
            const std::lock_guard inside{guard};
            listening.reset();
            over = true;
        });
    }
    const event_recorder still{c};
    (void)one.acquire();
    ASSERT_TRUE(eventually(5s * slower, [&] { return over.load(); }));
    const auto before = still.count(event_kind::released);
    (void)one.acquire();
    ASSERT_TRUE(eventually(patience, [&] { return still.count(event_kind::released) > before; }));
    EXPECT_EQ(calls, 1);
}

// Two listeners that act on each other while both are being called.
class two_listeners : public ::testing::Test {
  protected:
    std::function<void(const event&)> once_both_are_inside(std::function<void()> then) {
        return [this, then = std::move(then)](const event& e) {
            if (e.kind != event_kind::acquired) return;
            ++calls;
            inside.arrive_and_wait();
            then();
            ++ended;
        };
    }
    void call_both() { (void)one.acquire(); }

    client c{in_this_process()};
    mutex one{c, "one"};
    std::latch inside{2};
    std::atomic<int> calls{0};
    std::atomic<int> ended{0};
};

TEST_F(two_listeners, may_reset_the_subscription_of_each_other) {
    event_subscription first, second;
    first = c.on_event(once_both_are_inside([&] { second.reset(); }));
    second = c.on_event(once_both_are_inside([&] { first.reset(); }));
    call_both();
    ASSERT_TRUE(eventually(5s * slower, [&] { return ended == 2; })) << "each waits for the other";
    call_both();
    const event_recorder later{c};
    call_both();
    ASSERT_TRUE(later.has(event_kind::released));
    EXPECT_EQ(calls, 2);
}

TEST_F(two_listeners, wait_when_one_resets_the_subscription_of_the_other) {
    gate closed;
    std::atomic<bool> waited{false};
    event_subscription first, second;
    first = c.on_event(once_both_are_inside([&] {
        second.reset();
        waited = ended == 1;
    }));
    second = c.on_event(once_both_are_inside([&] { closed.wait(); }));
    const gate::opened_at_end opening{closed};
    call_both();
    ASSERT_TRUE(closed.blocks(1, patience));
    closed.open();
    ASSERT_TRUE(eventually(5s * slower, [&] { return ended == 2; }));
    EXPECT_TRUE(waited) << "the call went on when its subscription had ended";
}

TEST(listener, that_was_too_slow_receives_the_count_of_dropped_events) {
    gate closed;
    client c{in_this_process()};
    std::mutex guard;
    std::vector<std::string> reports;
    const auto slow = c.on_event([&](const event& e) {
        closed.wait();
        const std::lock_guard hold{guard};
        if (e.kind == event_kind::events_dropped) reports.push_back(e.detail);
    });
    const gate::opened_at_end opening{closed};
    mutex one{c, "one"};
    while (c.stats().events_dropped < 7) (void)one.acquire();
    const auto missed = c.stats().events_dropped;
    closed.open();
    ASSERT_TRUE(eventually(patience, [&] {
        (void)one.acquire();
        const std::lock_guard hold{guard};
        return !reports.empty();
    }));
    EXPECT_GE(c.stats().events_dropped, missed);
    EXPECT_NE(reports.front().find(" events were dropped"), std::string::npos) << reports.front();
}

TEST(slow_callback, is_reported_once_to_the_other_listeners) {
    gate closed;
    client c{with_short_slow_callback()};
    const auto stuck = c.on_event([&](const event&) { closed.wait(); });
    const gate::opened_at_end opening{closed};
    const event_recorder other{c};
    mutex one{c, "one"};
    (void)one.acquire();
    ASSERT_TRUE(other.has(event_kind::slow_callback));
    // After the client has looked for slow callbacks again.
    const auto then = boot_clock::now() + 200ms;
    ASSERT_TRUE(eventually(patience, [&] { return boot_clock::now() > then; }));
    EXPECT_EQ(other.count(event_kind::slow_callback), 1U);
}

// --- the end of a client -----------------------------------------------------------------------------

TEST(client_destructor, keeps_to_close_timeout_while_callbacks_block) {
    gate closed;
    auto how = in_this_process();
    how.close_timeout = 20ms;
    auto c = std::make_unique<client>(how);
    const auto stuck = c->on_event([&](const event&) { closed.wait(); });
    const gate::opened_at_end opening{closed};
    mutex one{*c, "one"};
    const auto held = brief(one);
    const on_loss callback{held.lost_token(), [&] { closed.wait(); }};
    const gate::opened_at_end opening_too{closed};
    ASSERT_TRUE(closed.blocks(2, patience));
    const stopwatch watch;
    c.reset();
    EXPECT_LT(watch.took(), 20ms + slack);
}

TEST(client_destructor, stops_the_token_of_a_lost_lease_while_all_loss_threads_block) {
    constexpr int threads = 16;
    gate closed;
    auto how = with_short_slow_callback();
    how.close_timeout = 1s;
    auto c = std::make_unique<client>(how);
    std::vector<std::unique_ptr<mutex>> locks;
    std::vector<lease> held;
    std::vector<std::unique_ptr<on_loss>> stuck;
    for (int i = 0; i < threads; ++i) {
        locks.push_back(std::make_unique<mutex>(*c, "stuck " + std::to_string(i)));
        held.push_back(brief(*locks.back()));
        stuck.push_back(std::make_unique<on_loss>(held.back().lost_token(), [&] { closed.wait(); }));
    }
    const gate::opened_at_end opening{closed};
    ASSERT_TRUE(closed.blocks(threads, patience));
    mutex other{*c, "other"};
    const auto next = other.acquire();
    const auto lost = next.lost_token();
    c.reset();
    EXPECT_TRUE(lost.stop_requested());
}

TEST(client_destructor, lets_no_callback_start_after_it_returns) {
    const auto threads = count_threads();
    gate closed;
    std::atomic<bool> client_gone{false};
    std::atomic<int> late{0};
    auto how = in_this_process();
    how.close_timeout = 20ms;
    auto c = std::make_unique<client>(how);
    auto listening = c->on_event([&](const event&) {
        if (client_gone) ++late;
        closed.wait();
    });
    mutex one{*c, "one"};
    for (int i = 0; i < 10; ++i) (void)one.acquire();
    ASSERT_TRUE(closed.blocks(1, patience));
    c.reset();
    client_gone = true;
    closed.open();
    EXPECT_TRUE(eventually(patience, [&] { return count_threads() <= threads; }));
    EXPECT_EQ(late, 0);
    listening.reset();
}

TEST(client_destructor, keeps_to_close_timeout_while_a_release_waits_for_its_reply) {
    redis_server server;
    fault_proxy net{server};
    auto how = settings(net.url());
    how.answer_timeout = 20s;
    how.close_timeout = 20ms;
    auto c = std::make_unique<client>(how);
    mutex one{*c, "one"};
    auto held = one.acquire();
    net.hold_reply_of(plain::leave());
    auto releasing = in_background([&] { return held.release(); });
    ASSERT_TRUE(eventually(patience, [&] { return net.count().replies_held == 1; }));
    const stopwatch watch;
    c.reset();
    EXPECT_LT(watch.took(), 20ms + slack);
    EXPECT_EQ(releasing.get(), release_outcome::unknown_until);
}

TEST(client_destructor, runs_the_callbacks_of_all_losses_if_none_blocks) {
    std::atomic<int> events{0};
    std::atomic<int> losses{0};
    auto how = in_this_process();
    how.close_timeout = 10s;
    auto c = std::make_unique<client>(how);
    const auto listening = c->on_event([&](const event& e) { events += e.kind == event_kind::lost; });
    mutex one{*c, "one"};
    mutex other{*c, "other"};
    const auto first = one.acquire();
    const auto second = other.acquire();
    const on_loss callback{first.lost_token(), [&] { ++losses; }};
    const on_loss other_callback{second.lost_token(), [&] { ++losses; }};
    c.reset();
    EXPECT_EQ(losses, 2);
    EXPECT_EQ(events, 2);
}

}  // namespace
}  // namespace holdfast::test
