// The server carries out a command and its reply is lost (hazards 10 and 11).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class lost_reply : public ::testing::Test {
  protected:
    // The server knows the scripts and the connection is up, so that the next command is the one under test.
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

TYPED_TEST(lost_reply, try_acquire_still_gets_the_lock) {
    this->net.drop_reply_of(TypeParam::look());
    lease held = this->lock.try_acquire();
    EXPECT_EQ(this->net.count().rules_fired, 1U);
    this->expect_one_hold(held);
}

TYPED_TEST(lost_reply, waiter_keeps_waiting_after_a_refused_bid) {
    lease first = this->others.acquire();
    // The first request finds the lock busy; the second is the bid.
    this->net.drop_reply_of(TypeParam::bid(), TypeParam::reentrant ? 2 : 1);
    auto waiter = waiter_for(this->lock);
    ASSERT_TRUE(eventually(patience, [&] { return this->net.count().rules_fired == 1; }));
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    EXPECT_EQ(first.release(), release_outcome::released);
    lease held = waiter.get();
    this->expect_one_hold(held);
}

TYPED_TEST(lost_reply, waiter_gets_the_lock_after_a_granted_bid) {
    lease first = this->others.acquire();
    this->net.drop_reply_of(TypeParam::bid(), TypeParam::reentrant ? 2 : 1);
    // The lock becomes free between the look and the bid.
    this->net.hold_reply_of(TypeParam::look());
    auto waiter = waiter_for(this->lock);
    ASSERT_TRUE(eventually(patience, [&] { return this->net.count().replies_held == 1; }));
    EXPECT_EQ(first.release(), release_outcome::released);
    this->net.release_replies();
    lease held = waiter.get();
    EXPECT_EQ(this->net.count().rules_fired, 2U);
    this->expect_one_hold(held);
}

TYPED_TEST(lost_reply, release_still_succeeds) {
    lease held = this->lock.acquire();
    this->net.drop_reply_of(TypeParam::leave());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(this->net.count().rules_fired, 1U);
    EXPECT_FALSE(exists(this->server, "job"));
}

TYPED_TEST(lost_reply, repeated_release_keeps_the_lock_of_the_next_owner) {
    lease held = this->lock.acquire();
    this->net.drop_reply_of(TypeParam::leave());
    this->net.refuse_new(true);  // delays the second attempt of the release
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

// --- any command -----------------------------------------------------------------------------------

enum class loss { of_command, of_reply };

// One client waits for another's lock and releases it, while its `nth` command or reply is lost. False if it
// sends fewer commands.
template <class Kind>
bool wait_with_one_loss(const std::string& direct_url, fault_proxy& net, const std::string& name, loss what,
                        int nth) {
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
        // The waiter has bid or met its fault; then the lock becomes free.
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
void lose_each_once(loss what) {
    constexpr int most = 16;
    redis_server server;
    std::vector<std::future<bool>> cases;
    for (int nth = 1; nth <= most; ++nth) {
        cases.push_back(in_background([&server, url = server.url(), what, nth] {
            fault_proxy net{server};
            return wait_with_one_loss<Kind>(url, net, "job" + std::to_string(nth), what, nth);
        }));
    }
    int fired = 0;
    for (auto& s : cases) fired += s.get() ? 1 : 0;
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

TYPED_TEST(any_command, may_be_lost) { lose_each_once<TypeParam>(loss::of_command); }
TYPED_TEST(any_command, may_lose_its_reply) { lose_each_once<TypeParam>(loss::of_reply); }

}  // namespace
}  // namespace holdfast::test
