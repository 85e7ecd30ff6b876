// The server has done it, and its answer never comes (hazards 10 and 11).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class lost_reply : public ::testing::Test {
  protected:
    // The server knows the scripts and the connection is up, so that the next command is the one that counts.
    void SetUp() override { ASSERT_TRUE(lock.acquire().release()); }

    void expect_one_hold(lease& held) {
        EXPECT_TRUE(held.valid());
        EXPECT_EQ(Kind::holder(server, "job"), held.owner().str());
        if (Kind::reentrant) {
            EXPECT_EQ(server.command({"HGET", "job", Kind::field(held.owner().str())}).text, "1");
        }
        EXPECT_EQ(held.release(), release_outcome::released);
        EXPECT_FALSE(exists(server, "job"));
        EXPECT_EQ(queued(server, "job"), 0);
    }

    redis_server server;
    fault_proxy net{server};
    client behind_it{net.url()};
    client direct{server.url()};
    std::remove_reference_t<decltype(Kind::make(behind_it, ""))> lock = Kind::make(behind_it, "job");
    std::remove_reference_t<decltype(Kind::make(direct, ""))> others = Kind::make(direct, "job");
};
TYPED_TEST_SUITE(lost_reply, all_ways, kind_names);

TYPED_TEST(lost_reply, of_a_try_does_not_lose_the_lock) {
    this->net.drop_reply_of(TypeParam::look());
    lease held = this->lock.try_acquire();
    EXPECT_EQ(this->net.count().rules_fired, 1U);
    this->expect_one_hold(held);
}

TYPED_TEST(lost_reply, of_a_bid_that_found_it_busy_keeps_the_waiter_waiting) {
    lease first = this->others.acquire();
    // The first question finds it busy; the second is the bid.
    this->net.drop_reply_of(TypeParam::bid(), TypeParam::reentrant ? 2 : 1);
    auto waiter = waiter_for(this->lock);
    ASSERT_TRUE(eventually(patience, [&] { return this->net.count().rules_fired == 1; }));
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    EXPECT_EQ(first.release(), release_outcome::released);
    lease held = waiter.get();
    this->expect_one_hold(held);
}

TYPED_TEST(lost_reply, of_a_bid_that_was_granted_does_not_lose_the_lock) {
    lease first = this->others.acquire();
    this->net.drop_reply_of(TypeParam::bid(), TypeParam::reentrant ? 2 : 1);
    // It goes free after the look and before the bid.
    this->net.hold_reply_of(TypeParam::look());
    auto waiter = waiter_for(this->lock);
    ASSERT_TRUE(eventually(patience, [&] { return this->net.count().replies_held == 1; }));
    EXPECT_EQ(first.release(), release_outcome::released);
    this->net.release_replies();
    lease held = waiter.get();
    EXPECT_EQ(this->net.count().rules_fired, 2U);
    this->expect_one_hold(held);
}

TYPED_TEST(lost_reply, of_a_release_does_not_make_it_fail) {
    lease held = this->lock.acquire();
    this->net.drop_reply_of(TypeParam::leave());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(this->net.count().rules_fired, 1U);
    EXPECT_FALSE(exists(this->server, "job"));
}

TYPED_TEST(lost_reply, of_a_release_does_not_free_the_next_owner) {
    lease held = this->lock.acquire();
    this->net.drop_reply_of(TypeParam::leave());
    this->net.refuse_new(true);  // the second try of the release comes when we want it
    auto released = in_background([&] { return held.release(); });
    ASSERT_TRUE(eventually(patience, [&] { return this->net.count().rules_fired == 1; }));
    lease next = this->others.try_acquire();
    ASSERT_TRUE(next.valid());

    this->net.refuse_new(false);
    EXPECT_EQ(released.get(), release_outcome::released);
    EXPECT_GE(this->net.count_of(TypeParam::leave()), 2U);
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(TypeParam::holder(this->server, "job"), next.owner().str());
    EXPECT_EQ(next.release(), release_outcome::released);
}

// --- whichever command it is -----------------------------------------------------------------------

enum class loss { of_command, of_reply };

// One client waits for another and gives back what it got, while command `nth` of it goes wrong. Empty when
// there is no such command any more.
template <class Kind>
bool one_story(const std::string& direct_url, fault_proxy& net, const std::string& name, loss what, int nth) {
    client direct{direct_url};
    auto others = Kind::make(direct, name);
    const auto any = [](const std::vector<std::string>&) { return true; };
    if (what == loss::of_reply)
        net.drop_reply_of(any, nth);
    else
        net.drop_command(any, nth);
    {
        client c{settings(net.url(), 3s)};
        auto lock = Kind::make(c, name);
        lease first = others.acquire();
        auto waiter = in_background([&] {
            std::error_code ec;
            return lock.try_acquire_for(patience, ec);
        });
        // It has bid, or met its fault; then the lock goes free.
        EXPECT_TRUE(
            eventually(patience, [&] { return net.count_of(Kind::bid()) > (Kind::reentrant ? 1U : 0U); }));
        EXPECT_EQ(first.release(), release_outcome::released);
        lease held = waiter.get();
        EXPECT_TRUE(held.valid()) << "nth " << nth;
        EXPECT_EQ(held.release(), release_outcome::released) << "nth " << nth;
    }
    lease after = others.try_acquire_for(patience);
    EXPECT_TRUE(after.valid());
    return net.count().rules_fired == 1;
}

template <class Kind>
void every_command_once(loss what) {
    constexpr int most = 16;
    redis_server server;
    std::vector<std::future<bool>> stories;
    for (int nth = 1; nth <= most; ++nth) {
        stories.push_back(in_background([&server, url = server.url(), what, nth] {
            fault_proxy net{server};
            return one_story<Kind>(url, net, "job" + std::to_string(nth), what, nth);
        }));
    }
    int fired = 0;
    for (auto& s : stories) fired += s.get() ? 1 : 0;
    EXPECT_GE(fired, 8);  // handshake, look, subscribe, bid, release at least
    EXPECT_TRUE(eventually(patience, [&] {
        const auto keys = server.keys();
        return std::none_of(keys.begin(), keys.end(),
                            [](const auto& k) { return !k.starts_with("holdfast:f"); });
    }));
}

template <class Kind>
class any_command : public ::testing::Test {};
TYPED_TEST_SUITE(any_command, all_ways, kind_names);

TYPED_TEST(any_command, may_be_lost) { every_command_once<TypeParam>(loss::of_command); }
TYPED_TEST(any_command, may_lose_its_reply) { every_command_once<TypeParam>(loss::of_reply); }

}  // namespace
}  // namespace holdfast::test
