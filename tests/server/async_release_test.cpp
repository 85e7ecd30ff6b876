// Asynchronous release of leases while the store is in trouble.
#include "server/scene.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

namespace holdfast::test {
namespace {

class async_release_in_trouble : public ::testing::Test {
  protected:
    static config brief(const std::string& url) {
        config c = settings(url, 30s);
        c.answer_timeout = 300ms * slower;
        return c;
    }

    boost::asio::thread_pool tasks{1};
    auto use_future() { return boost::asio::bind_executor(tasks, boost::asio::use_future); }
    redis_server server;
    fault_proxy net{server};
    std::optional<client> c{std::in_place, brief(net.url())};
    client d{server.url()};
    mutex lock{*c, "job"};
    mutex others{d, "job"};
};

TEST_F(async_release_in_trouble, is_sent_again_when_the_connection_was_cut) {
    lease held = lock.acquire();
    net.stall();
    auto end = async_release(std::move(held), use_future());
    EXPECT_FALSE(ready(end, 10ms));
    net.cut_all();
    net.resume();
    EXPECT_EQ(end.get(), release_outcome::released);
    EXPECT_TRUE(others.try_acquire());
}

TEST_F(async_release_in_trouble, returns_no_time_before_a_handed_off_lock_is_free) {
    lease theirs = others.acquire();
    auto next = waiter_for(lock, {.ttl = 2s});
    ASSERT_TRUE(waits<plain>(server, "job"));
    theirs.release();
    lease held = next.get();
    net.stall();
    const auto end = async_release(std::move(held), use_future()).get();
    EXPECT_EQ(end, release_outcome::unknown_until);
    const auto now = boot_clock::now();
    if (const auto left = pttl(server, "job"); left > 0ms) {
        EXPECT_GE(end.until, now + left);
    }
}

TEST_F(async_release_in_trouble, returns_the_latest_end_of_a_lease_whose_state_is_unknown) {
    lease held = lock.acquire({.ttl = 1s * slower});
    net.stall();
    const auto end = async_release(std::move(held), use_future()).get();
    EXPECT_EQ(end, release_outcome::unknown_until);
    EXPECT_LE(end.until, boot_clock::now() + 2s * slower);
    EXPECT_TRUE(others.try_acquire_for(patience));
}

TEST_F(async_release_in_trouble, completes_when_the_client_ends_first) {
    lease held = lock.acquire();
    net.stall();
    auto end = async_release(std::move(held), use_future());
    c.reset();
    ASSERT_TRUE(ready(end, patience));
    EXPECT_FALSE(end.get() == release_outcome::already_lost);
}

TEST_F(async_release_in_trouble, reports_a_lost_lease_and_keeps_the_next_one) {
    lease held = lock.acquire({.ttl = 50ms * slower});
    const lease next = others.try_acquire_for(patience);
    ASSERT_TRUE(next);
    EXPECT_EQ(async_release(std::move(held), use_future()).get(), release_outcome::already_lost);
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(plain::holder(server, "job"), next.owner().str());
}

TEST_F(async_release_in_trouble, dropped_lease_is_released_without_blocking) {
    auto held = async_acquire(lock, use_future()).get();
    net.stall();
    const stopwatch since;
    held = lease{};
    EXPECT_LT(since.took(), 300ms * slower + taken_by_the_machine()) << "it does not wait for the answer";
    net.resume();
    EXPECT_TRUE(others.try_acquire_for(patience));
}

TEST_F(async_release_in_trouble, ending_client_releases_dropped_leases) {
    for (int i = 0; i < 50; ++i) {
        mutex one{*c, "job:" + std::to_string(i)};
        (void)async_acquire(one, use_future()).get();
    }
    c.reset();
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(exists(server, "job:" + std::to_string(i)));
}

}  // namespace
}  // namespace holdfast::test
