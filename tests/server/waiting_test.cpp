// How a waiter learns that the lock is free: by a message, and without one (hazards 13 and 14).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class waiting : public ::testing::Test {
  protected:
    // Settings of a client for which only messages are quick.
    static config silent(const std::string& url) {
        config c = settings(url);
        c.poll_gap = 30s;
        return c;
    }

    redis_server server;
    fault_proxy net{server};
    client direct{server.url()};
    client behind_it{net.url()};
    client lazy{silent(net.url())};
    std::remove_reference_t<decltype(Kind::make(direct, ""))> others = Kind::make(direct, "job");
    std::remove_reference_t<decltype(Kind::make(direct, ""))> lock = Kind::make(behind_it, "job");
    std::remove_reference_t<decltype(Kind::make(direct, ""))> lazy_lock = Kind::make(lazy, "job");
};
TYPED_TEST_SUITE(waiting, all_ways, kind_names);

TYPED_TEST(waiting, ends_with_the_message_of_the_release) {
    lease first = this->others.acquire();
    auto waiter = waiter_for(this->lazy_lock);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    const stopwatch since;
    EXPECT_TRUE(first.release());
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), 5s + taken_by_the_machine());  // and not a poll gap of 10 s, a third of the lease
}

TYPED_TEST(waiting, asks_again_after_it_has_subscribed) {
    lease first = this->others.acquire();
    // The release falls between "busy" and SUBSCRIBE: no message about it will ever arrive.
    this->net.hold_reply_of(TypeParam::look());
    auto waiter = waiter_for(this->lazy_lock);
    ASSERT_TRUE(eventually(patience, [&] { return this->net.count().replies_held == 1; }));
    EXPECT_TRUE(first.release());
    const stopwatch since;
    this->net.release_replies();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), 5s + taken_by_the_machine());
}

TYPED_TEST(waiting, goes_on_after_a_grant_that_arrived_expired) {
    this->lock.acquire().release();  // the server knows the scripts from now on
    this->net.hold_reply_of(TypeParam::look());
    auto waiter =
        in_background([&] { return this->lock.try_acquire_for(patience, {.ttl = 300ms * slower}); });
    ASSERT_TRUE(eventually(patience, [&] { return this->net.count().replies_held == 1; }));
    ASSERT_TRUE(eventually(patience, [&] { return !exists(this->server, "job"); }));
    this->net.release_replies();
    EXPECT_TRUE(waiter.get());
}

TYPED_TEST(waiting, costs_a_poll_gap_when_every_message_is_lost) {
    this->net.swallow_messages(true);
    lease first = this->others.acquire();
    auto waiter = waiter_for(this->lock);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    const stopwatch since;
    EXPECT_TRUE(first.release());
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), 1s + slack);
    EXPECT_EQ(this->net.count().messages, 0U);
    EXPECT_GE(this->net.count().messages_swallowed, 1U);
}

TYPED_TEST(waiting, survives_the_loss_of_the_subscription) {
    lease first = this->others.acquire();
    auto waiter = waiter_for(this->lock);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    this->server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    const stopwatch since;
    EXPECT_TRUE(first.release());
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), 1s + slack);
}

TYPED_TEST(waiting, asks_at_once_when_the_subscription_is_back) {
    lease first = this->others.acquire();
    auto waiter = waiter_for(this->lazy_lock);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    // The waiter has asked again since it listens; otherwise that request could find the lock free.
    ASSERT_TRUE(eventually(patience, [&] { return this->lazy.stats().attempts.busy >= 2; }));
    this->net.swallow_messages(true);
    EXPECT_TRUE(first.release());
    ASSERT_TRUE(eventually(patience, [&] { return this->net.count().messages_swallowed >= 1; }));
    EXPECT_FALSE(ready(waiter));
    // The message is lost for good; only the new connection can make the waiter ask.
    const stopwatch since;
    this->server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), 3s + taken_by_the_machine());
}

TYPED_TEST(waiting, of_a_client_that_only_polls_ends_soon_after_the_release) {
    if constexpr (std::is_same_v<TypeParam, recursive>) {
        recursive_mutex polling{this->behind_it, "job", {.wake = wake::poll}};
        lease first = this->others.acquire();
        auto waiter = waiter_for(polling);
        ASSERT_TRUE(eventually(patience, [&] { return this->net.count_of(TypeParam::look()) >= 3; }));
        EXPECT_EQ(TypeParam::waiters(this->server, "job"), 0);
        const stopwatch since;
        EXPECT_TRUE(first.release());
        EXPECT_TRUE(waiter.get().valid());
        EXPECT_LT(since.took(), slack);
    }
}

TYPED_TEST(waiting, ends_when_the_lease_of_a_dead_holder_runs_out) {
    this->server.command(TypeParam::foreign_hold("job"));
    this->server.command({"PEXPIRE", "job", std::to_string(300 * slower)});
    const stopwatch since;
    EXPECT_TRUE(this->lazy_lock.try_acquire_for(patience).valid());
    EXPECT_LT(since.took(), 300ms * slower + slack);
}

}  // namespace
}  // namespace holdfast::test
