// Redisson's semaphores and latch on our keys: its commands beside ours (vectors 20 to 25 of its scripts).
#include "server/scene.hpp"

#include <hiredis/hiredis.h>

namespace holdfast::test {
namespace {

class redisson_counters : public ::testing::Test {
  protected:
    // The messages on `channel` while `act` runs. "end" is published afterwards.
    std::vector<std::string> messages_on(const std::string& channel, const std::function<void()>& act) {
        std::vector<std::string> messages;
        auto listener = in_background([&, ready = &ready_] {
            const subscriber_connection on(server.port(), channel);
            ready->set_value();
            for (;;) {
                auto m = on.next();
                if (m == "end") return;
                messages.push_back(std::move(m));
            }
        });
        ready_.get_future().wait();
        act();
        server.command({"PUBLISH", channel, "end"});
        listener.get();
        ready_ = {};
        return messages;
    }
    std::string value() { return server.command({"GET", "job"}).text; }

    redis_server server;
    client c{server.url()};
    const std::string semaphore_channel = "redisson_sc:{job}";
    const std::string latch_channel = "redisson_countdownlatch__channel__{job}";

  private:
    struct subscriber_connection {
        subscriber_connection(std::uint16_t port, const std::string& channel)
            : context{redisConnect("127.0.0.1", port), &redisFree} {
            redisSetTimeout(context.get(), {20, 0});
            const std::unique_ptr<void, void (*)(void*)> confirmed{
                redisCommand(context.get(), "SUBSCRIBE %s", channel.c_str()), &freeReplyObject};
        }
        [[nodiscard]] std::string next() const {
            void* raw = nullptr;
            if (redisGetReply(context.get(), &raw) != REDIS_OK) return "end";
            const std::unique_ptr<void, void (*)(void*)> message{raw, &freeReplyObject};
            return static_cast<const redisReply*>(raw)->element[2]->str;
        }
        std::unique_ptr<redisContext, void (*)(redisContext*)> context;
    };
    std::promise<void> ready_;
};

using word_list = std::vector<std::string>;

TEST_F(redisson_counters, vector_20_missing_semaphore_has_no_permits_and_is_created_by_give) {
    counting_semaphore semaphore{c, "job"};
    EXPECT_FALSE(semaphore.try_take());
    EXPECT_EQ(messages_on(semaphore_channel, [&] { semaphore.give(); }), word_list{"1"});
    EXPECT_EQ(value(), "1");
}

// Redisson's addPermits removes the key's TTL and publishes a negative number, which no waiter can use.
TEST_F(redisson_counters, vector_21_adding_keeps_the_ttl_and_publishes_no_negative_number) {
    counting_semaphore semaphore{c, "job"};
    server.command({"SET", "job", "5", "PX", "60000"});
    semaphore.take(2);
    EXPECT_EQ(messages_on(semaphore_channel, [&] { semaphore.give(2); }), word_list{"5"});
    EXPECT_GT(pttl(server, "job"), 0ms);
    EXPECT_EQ(messages_on(semaphore_channel, [&] { EXPECT_EQ(semaphore.add_permits(-9), -4); }), word_list{});
    EXPECT_EQ(value(), "-4");
    EXPECT_GT(pttl(server, "job"), 0ms);
}

TEST_F(redisson_counters, vector_22_draining_a_negative_number_sets_it_to_zero) {
    counting_semaphore semaphore{c, "job"};
    server.command({"SET", "job", "-4"});
    EXPECT_EQ(semaphore.drain_permits(), -4);
    EXPECT_EQ(value(), "0");
}

TEST_F(redisson_counters, vector_23_expired_permits_return_and_unleased_permits_never_do) {
    permit_semaphore semaphore{c, "job"};
    server.command({"SET", "job", "1"});
    const std::string never(16, 'x');
    server.command({"ZADD", "{job}:timeout", "922337203685477", never});
    auto held = semaphore.acquire({.ttl = 300ms * slower});
    EXPECT_EQ(server.command({"ZCARD", "{job}:timeout"}).number, 2);
    EXPECT_EQ(server.command({"ZRANGE", "{job}:timeout", "0", "0"}).items[0].text.size(), 16U);
    // The waiter retries when the first permit expires; the poll gap is a second.
    const stopwatch since;
    auto next = semaphore.acquire();
    EXPECT_TRUE(next.valid());
    EXPECT_LT(since.took(), 300ms * slower + slack);
    EXPECT_FALSE(semaphore.try_acquire());
    EXPECT_EQ(server.command({"ZSCORE", "{job}:timeout", never}).text, "922337203685477");
}

TEST_F(redisson_counters, vector_24_permit_released_too_late_is_already_in_the_pool) {
    permit_semaphore semaphore{c, "job"};
    server.command({"SET", "job", "0"});
    const std::string id(16, '\x11');
    server.command({"ZADD", "{job}:timeout", "1000", id});
    EXPECT_FALSE(semaphore.release("11111111111111111111111111111111"));
    EXPECT_EQ(value(), "1");
}

TEST_F(redisson_counters, vector_25_latch_publishes_1_when_set_and_0_when_open) {
    latch counted{c, "job"};
    EXPECT_EQ(messages_on(latch_channel, [&] { counted.try_set_count(2); }), word_list{"1"});
    EXPECT_EQ(value(), "2");
    EXPECT_EQ(messages_on(latch_channel, [&] { counted.count_down(); }), word_list{});
    EXPECT_EQ(messages_on(latch_channel, [&] { counted.count_down(); }), word_list{"0"});
    EXPECT_FALSE(exists(server, "job"));
    EXPECT_EQ(messages_on(latch_channel, [&] { counted.count_down(); }), word_list{});
    EXPECT_FALSE(exists(server, "job"));
    // Java may set a latch to 0 and then cannot set it again; ours can.
    server.command({"SET", "job", "0"});
    counted.wait();
    EXPECT_FALSE(counted.erase());
    EXPECT_TRUE(counted.try_set_count(2));
}

TEST_F(redisson_counters, message_from_java_wakes_our_waiter) {
    counting_semaphore semaphore{c, "job"};
    auto taker = in_background([&] { semaphore.take(); });
    ASSERT_TRUE(eventually(patience, [&] { return c.stats().attempts.busy >= 2; }));
    const stopwatch since;
    server.command({"EVAL",
                    "local v = redis.call('incrby', KEYS[1], ARGV[1]); redis.call('publish', KEYS[2], v);",
                    "2", "job", semaphore_channel, "1"});
    taker.get();
    EXPECT_LT(since.took(), slack);
}

TEST_F(redisson_counters, latch_deleted_by_java_ends_our_wait) {
    latch counted{c, "job"};
    counted.try_set_count(2);
    auto waiter = in_background([&] { counted.wait(); });
    ASSERT_TRUE(eventually(patience, [&] { return c.stats().attempts.busy >= 2; }));
    server.command({"DEL", "job"});
    server.command({"PUBLISH", latch_channel, "1"});
    waiter.get();
}

}  // namespace
}  // namespace holdfast::test
