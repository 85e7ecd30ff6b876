// A fenced mutex asks twice after a hand-off: whether it holds the lock, and which fence. What may happen in
// between.
#include "support/background.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

test::command_predicate with_word(std::string word) {
    return [word = std::move(word)](const std::vector<std::string>& words) {
        return std::find(words.begin(), words.end(), word) != words.end();
    };
}
const auto bid = with_word("120000");         // the TTL of the queue
const auto take_fence = with_word("604800");  // the TTL of the fence counter

TEST(fenced_mutex, is_released_for_a_waiter_that_left_while_its_bid_was_answered) {
    test::redis_server server;
    test::fault_proxy proxy{server};
    client holders{server.url()};
    client waiters{proxy.url()};
    mutex held_first{holders, "ledger", {.fenced = true}};
    mutex wanted{waiters, "ledger", {.fenced = true}};

    auto first = held_first.acquire();
    std::stop_source stop;
    auto waiting = test::in_background([&] {
        std::error_code ec;
        (void)wanted.acquire({.stop = stop.get_token()}, ec);
        return ec;
    });
    ASSERT_TRUE(test::eventually(test::patience,
                                 [&] { return admin::inspect(holders, "ledger").queue.size() == 1; }));

    // The lock is handed off, the waiter asks for its fence, and is cancelled before it receives a reply.
    proxy.hold_reply_of(bid);
    first.release();
    ASSERT_TRUE(test::eventually(test::patience, [&] { return proxy.count().replies_held == 1; }));
    const auto asked_before = proxy.count_of(take_fence);
    stop.request_stop();
    EXPECT_EQ(waiting.get(), errc::cancelled);

    proxy.release_replies();
    ASSERT_TRUE(test::eventually(test::patience, [&] { return proxy.count_of(take_fence) > asked_before; }));
    EXPECT_TRUE(held_first.try_acquire_for(2s)) << "held for no client until the lease expires";
}

}  // namespace
}  // namespace holdfast
