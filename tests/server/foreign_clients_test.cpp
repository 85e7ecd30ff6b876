// Locks of other clients under the same name: those that use SET NX PX and compare-and-delete, and Redisson.
#include "server/scene.hpp"

#include <hiredis/hiredis.h>

namespace holdfast::test {
namespace {

const std::string compare_and_delete =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

// --- SET NX PX --------------------------------------------------------------------------------------

template <class Kind>
class plain_clients : public ::testing::Test {
  protected:
    bool foreign_lock(const std::string& token, const std::string& ttl = "60000") {
        return server.command({"SET", "job", token, "NX", "PX", ttl}).text == "OK";
    }
    bool foreign_unlock(const std::string& token) {
        return server.command({"EVAL", compare_and_delete, "1", "job", token}).number == 1;
    }
    // How long our waiter took after `open`. The shortest of some: a busy machine only makes it longer.
    milliseconds quickest_entry(const std::function<void()>& open) {
        auto best = milliseconds::max();
        for (int i = 0; i < 3; ++i) {
            EXPECT_TRUE(foreign_lock("theirs"));
            auto waiter = waiter_for(lock);
            EXPECT_TRUE(waits<Kind>(server, "job"));
            const stopwatch since;
            open();
            lease got = waiter.get();
            best = std::min(best, since.took());
            EXPECT_TRUE(got.valid());
            EXPECT_TRUE(got.release());
        }
        return best;
    }

    redis_server server;
    client c{server.url()};
    mutex lock = Kind::make(c, "job");
};
TYPED_TEST_SUITE(plain_clients, native_kinds, kind_names);

TYPED_TEST(plain_clients, exclude_us) {
    ASSERT_TRUE(this->foreign_lock("theirs"));
    EXPECT_FALSE(this->lock.try_lock());
    EXPECT_FALSE(this->lock.try_lock_for(50ms));
    EXPECT_EQ(this->server.command({"GET", "job"}).text, "theirs");
    EXPECT_TRUE(eventually(patience, [&] { return queued(this->server, "job") == 0; }));
}

TYPED_TEST(plain_clients, are_excluded_by_us) {
    lease held = this->lock.acquire();
    EXPECT_FALSE(this->foreign_lock("theirs"));
    EXPECT_FALSE(this->foreign_unlock("theirs"));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(this->foreign_lock("theirs"));
}

TYPED_TEST(plain_clients, let_us_in_when_they_delete) {
    EXPECT_LT(this->quickest_entry([&] { this->server.command({"DEL", "job"}); }), 100ms * slower);
}
TYPED_TEST(plain_clients, let_us_in_when_they_compare_and_delete) {
    EXPECT_LT(this->quickest_entry([&] { EXPECT_TRUE(this->foreign_unlock("theirs")); }), 100ms * slower);
}
TYPED_TEST(plain_clients, let_us_in_when_their_lease_expires) {
    EXPECT_LT(this->quickest_entry([&] { this->server.command({"PEXPIRE", "job", "1"}); }), 100ms * slower);
}

TYPED_TEST(plain_clients, may_hold_without_a_ttl_and_are_waited_for) {
    this->server.command({"SET", "job", "for ever"});
    auto waiter = waiter_for(this->lock);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    EXPECT_FALSE(ready(waiter, 100ms));
    EXPECT_EQ(pttl(this->server, "job"), -1ms);
    this->server.command({"DEL", "job"});
    EXPECT_TRUE(waiter.get().valid());
}

TYPED_TEST(plain_clients, that_barge_do_not_overtake_our_queue) {
    client d{this->server.url()};
    auto second = TypeParam::make(d, "job");
    lease first = this->lock.acquire();
    auto waiter = waiter_for(second);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    // Between the release and the next owner's first command no SET NX succeeds.
    EXPECT_TRUE(first.release());
    EXPECT_FALSE(this->foreign_lock("barging"));
    lease got = waiter.get();
    EXPECT_TRUE(got.valid());
    EXPECT_TRUE(got.release());
    EXPECT_TRUE(this->foreign_lock("barging"));
}

TYPED_TEST(plain_clients, that_replace_our_key_keep_it_when_we_release) {
    lease held = this->lock.acquire({.ttl = 30s, .renew = true});
    this->server.command({"DEL", "job"});
    ASSERT_TRUE(this->foreign_lock("theirs"));
    // Our release finds another owner and changes nothing.
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_EQ(this->server.command({"GET", "job"}).text, "theirs");
}

// --- Redisson's lock, by the scripts of the article ---------------------------------------------------

const std::string article_lock = R"(
if (redis.call('exists', KEYS[1]) == 0) then
  redis.call('hincrby', KEYS[1], ARGV[2], 1);
  redis.call('pexpire', KEYS[1], ARGV[1]);
  return nil;
end ;
if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then
  redis.call('hincrby', KEYS[1], ARGV[2], 1);
  redis.call('pexpire', KEYS[1], ARGV[1]);
  return nil;
end ;
return redis.call('pttl', KEYS[1]);)";

const std::string article_unlock = R"(
if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then
  return nil;
end ;
local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);
if (counter > 0) then
  redis.call('pexpire', KEYS[1], ARGV[2]);
  return 0;
else
  redis.call('del', KEYS[1]);
  redis.call('publish', KEYS[2], ARGV[1]);
  return 1;
end ;
return nil;)";

class redisson : public ::testing::Test {
  protected:
    const std::string them = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";

    redis_reply foreign_lock(const std::string& ttl = "60000") {
        return server.command({"EVAL", article_lock, "1", "job", ttl, them});
    }
    redis_reply foreign_unlock() {
        return server.command({"EVAL", article_unlock, "2", "job", channel_of("job"), "0", "30000", them});
    }

    redis_server server;
    // Only a message or the end of a lease wakes it soon.
    client c{[this] {
        config s = settings(server.url());
        s.poll_gap = 30s;
        return s;
    }()};
    recursive_mutex lock{c, "job"};
};

TEST_F(redisson, excludes_us_and_is_excluded_by_us) {
    ASSERT_TRUE(foreign_lock().is_nil());
    EXPECT_FALSE(lock.try_lock());
    EXPECT_EQ(foreign_unlock().number, 1);

    ASSERT_TRUE(lock.try_lock());
    const auto ttl = foreign_lock();
    EXPECT_GT(ttl.number, 0);
    EXPECT_LE(ttl.number, 30'000);
    EXPECT_TRUE(foreign_unlock().is_nil());
    lock.unlock();
    EXPECT_TRUE(foreign_lock().is_nil());
}

TEST_F(redisson, wakes_us_with_its_message_at_the_last_unlock) {
    ASSERT_TRUE(foreign_lock().is_nil());
    ASSERT_TRUE(foreign_lock().is_nil());  // it holds it twice
    auto waiter = waiter_for(lock);
    ASSERT_TRUE(waits<recursive>(server, "job"));
    EXPECT_EQ(foreign_unlock().number, 0);
    EXPECT_FALSE(ready(waiter, 100ms));
    const stopwatch since;
    EXPECT_EQ(foreign_unlock().number, 1);
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), slack);
}

TEST_F(redisson, is_waited_for_until_its_lease_expires) {
    ASSERT_TRUE(foreign_lock(std::to_string(300 * slower)).is_nil());
    const stopwatch since;
    EXPECT_TRUE(lock.try_acquire_for(patience).valid());
    EXPECT_LT(since.took(), 300ms * slower + slack);
}

TEST_F(redisson, receives_the_message_of_our_release) {
    const std::unique_ptr<redisContext, void (*)(redisContext*)> listener{
        redisConnect("127.0.0.1", server.port()), &redisFree};
    ASSERT_EQ(listener->err, 0);
    redisSetTimeout(listener.get(), {10, 0});
    const std::unique_ptr<void, void (*)(void*)> confirmed{
        redisCommand(listener.get(), "SUBSCRIBE %s", channel_of("job").c_str()), &freeReplyObject};
    ASSERT_NE(confirmed, nullptr);

    lock.lock();
    lock.lock();
    lock.unlock();
    lock.unlock();
    void* raw = nullptr;
    ASSERT_EQ(redisGetReply(listener.get(), &raw), REDIS_OK);
    const std::unique_ptr<void, void (*)(void*)> message{raw, &freeReplyObject};
    const auto* r = static_cast<const redisReply*>(raw);
    ASSERT_EQ(r->elements, 3U);
    EXPECT_STREQ(r->element[0]->str, "message");
    EXPECT_EQ(r->element[1]->str, channel_of("job"));
    EXPECT_STREQ(r->element[2]->str, "0");
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(redisson, sees_how_many_times_we_hold_it) {
    lease outer = lock.acquire();
    const auto holds = [&] { return server.command({"HGET", "job", outer.owner().str()}).text; };
    EXPECT_EQ(holds(), "1");
    {
        lease inner = lock.acquire(outer);
        EXPECT_TRUE(eventually(patience, [&] { return holds() == "2"; }));
        EXPECT_EQ(inner.owner(), outer.owner());
        EXPECT_FALSE(foreign_lock().is_nil());
    }
    EXPECT_TRUE(eventually(patience, [&] { return holds() == "1"; }));
    EXPECT_TRUE(outer.valid());
    EXPECT_FALSE(foreign_lock().is_nil());
    EXPECT_TRUE(outer.release());
    EXPECT_TRUE(foreign_lock().is_nil());
}

}  // namespace
}  // namespace holdfast::test
