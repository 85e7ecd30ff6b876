// Wake messages that are late, malformed, or for owner tokens that no client uses (native mutex).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class stale_wake : public ::testing::Test {
  protected:
    // A waiter behind a live holder, and what a forger must know about it.
    void SetUp() override {
        first = others.acquire();
        waiter = waiter_for(lock);
        ASSERT_TRUE(waits<Kind>(server, "job"));
        ASSERT_TRUE(bids(1));  // the bid that queued it was answered
        const auto head = server.command({"ZRANGE", queue_of("job"), "0", "0", "WITHSCORES"}).items;
        token = head.at(0).text;
        score = std::stoll(head.at(1).text);
        channel = "holdfast:wake:" + token.substr(0, 22);
    }

    // The waiter goes on asking, which it would not if it believed that it held the lock.
    bool bids(std::size_t more) {
        const auto enough = net.count_of(Kind::bid()) + more;
        return eventually(patience, [&] { return net.count_of(Kind::bid()) >= enough; });
    }
    void publish(const std::string& message) {
        EXPECT_EQ(server.command({"PUBLISH", channel, message}).number, 1);
    }

    static config busy_poller(const std::string& url) {
        config c = settings(url);
        c.poll_gap = 50ms;
        return c;
    }

    redis_server server;
    fault_proxy net{server};
    client direct{server.url()};
    client behind_it{busy_poller(net.url())};
    mutex others = Kind::make(direct, "job");
    mutex lock = Kind::make(behind_it, "job");
    std::future<lease> waiter;
    lease first;
    std::string token;
    std::string channel;
    std::int64_t score = 0;
};
TYPED_TEST_SUITE(stale_wake, native_kinds, kind_names);

TYPED_TEST(stale_wake, with_an_older_score_makes_no_second_holder) {
    this->publish(this->token + ' ' + std::to_string(this->score - 1) + " job");
    EXPECT_TRUE(this->bids(3));
    EXPECT_FALSE(ready(this->waiter));
    EXPECT_TRUE(this->first.valid());
    EXPECT_EQ(TypeParam::holder(this->server, "job"), this->first.owner().str());

    EXPECT_TRUE(this->first.release());
    lease got = this->waiter.get();
    EXPECT_TRUE(got.valid());
    EXPECT_EQ(got.owner().str(), this->token);
}

TYPED_TEST(stale_wake, malformed_message_is_ignored) {
    for (const std::string& message :
         {std::string{}, std::string{"1"}, this->token, this->token + " x job", std::string(100'000, 'x'),
          std::string{" "}, std::string{"  "}, std::string{"\0 \0 \0", 5}, std::string{"evicted"},
          std::string{"somebody evicted job"}}) {
        this->publish(message);
    }
    EXPECT_TRUE(this->bids(3));
    EXPECT_FALSE(ready(this->waiter));
    EXPECT_TRUE(this->first.valid());
    EXPECT_TRUE(this->first.release());
    EXPECT_TRUE(this->waiter.get().valid());
}

TYPED_TEST(stale_wake, for_an_unused_owner_token_releases_that_grant) {
    const auto unknown = this->token.substr(0, 22) + "|17";
    this->server.command({"SET", "orphan", unknown, "PX", "60000"});
    this->publish(unknown + " 1 orphan");
    EXPECT_TRUE(eventually(patience, [&] { return !exists(this->server, "orphan"); }));

    // The next waiter of that lock gets it, if there is one.
    this->server.command({"SET", "orphan", unknown, "PX", "60000"});
    auto other_lock = TypeParam::make(this->direct, "orphan");
    auto next = waiter_for(other_lock);
    ASSERT_TRUE(waits<TypeParam>(this->server, "orphan"));
    this->publish(unknown + " 1 orphan");
    EXPECT_TRUE(next.get().valid());
    EXPECT_FALSE(ready(this->waiter));
}

TYPED_TEST(stale_wake, for_the_held_owner_token_does_not_release_the_lock) {
    EXPECT_TRUE(this->first.release());
    lease got = this->waiter.get();
    ASSERT_TRUE(got.valid());
    this->publish(this->token + ' ' + std::to_string(this->score) + " job");
    this->publish(this->token + " 1 job");
    // The same thread acts on this one last: then it has read the others.
    this->server.command({"SET", "marker", this->token.substr(0, 22) + "|17", "PX", "60000"});
    this->publish(this->token.substr(0, 22) + "|17 1 marker");
    EXPECT_TRUE(eventually(patience, [&] { return !exists(this->server, "marker"); }));
    EXPECT_TRUE(got.valid());
    EXPECT_EQ(TypeParam::holder(this->server, "job"), this->token);
    EXPECT_EQ(got.release(), release_outcome::released);
}

}  // namespace
}  // namespace holdfast::test
