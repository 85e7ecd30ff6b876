// Clients that use SET NX PX and compare-and-delete: redis-py's Lock, redsync, node-redlock. They poll, and
// our client that waits behind them polls too. Both hold the same key.
#include "interop/java_scene.hpp"

#include <tuple>

namespace holdfast::test {
namespace {

using poller_and_kind = std::tuple<poller, shared_kind>;

class polling_client : public ::testing::TestWithParam<poller_and_kind> {
  protected:
    const poller other = std::get<0>(GetParam());
    const shared_kind kind = std::get<1>(GetParam());
    const std::string name = own_name();
    peer& they = other.start();
    redis_server& server = interop_server();
    client c{without_polls()};
    any_lock lock = kind.make(c, name);

    peer::request ask_them(std::string_view verb, const std::vector<long>& arguments = {},
                           std::string_view thread = "a") {
        return they.ask(thread, verb, "mutex", name, arguments);
    }
    std::string tell_them(std::string_view verb, const std::vector<long>& arguments = {},
                          std::string_view thread = "a") {
        return ask_them(verb, arguments, thread).get();
    }
};

TEST_P(polling_client, both_clients_exclude_each_other) {
    tell_them("lock");
    EXPECT_FALSE(lock->try_acquire());
    EXPECT_FALSE(lock->try_acquire_for(50ms));
    EXPECT_EQ(inspect(c, name).holders.at(0).owner, tell_them("owner"));
    tell_them("unlock");

    lease held = lock->acquire();
    EXPECT_EQ(tell_them("try"), "false");
    EXPECT_EQ(tell_them("try", {300}), "false");
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_EQ(tell_them("try"), "true");
    tell_them("unlock");
}

TEST_P(polling_client, its_release_admits_holdfast) {
    EXPECT_LT(quickest(
                  [&] {
                      tell_them("lock");
                      auto waiter = waiter_for(*lock);
                      EXPECT_TRUE(kind.waits(name));
                      return waiter;
                  },
                  [&] { tell_them("unlock"); }, [](auto& waiter) { EXPECT_TRUE(waiter.get().valid()); }),
              at_once);
}

TEST_P(polling_client, release_by_holdfast_admits_it_at_its_next_poll) {
    lease held;
    EXPECT_LT(quickest(
                  [&] {
                      held = lock->acquire();
                      auto waiter = ask_them("try", {20'000});
                      EXPECT_FALSE(waiter.ready(2 * other.poll));
                      return waiter;
                  },
                  [&] { EXPECT_TRUE(held.release()); },
                  [&](auto& waiter) {
                      EXPECT_EQ(waiter.get(), "true");
                      tell_them("unlock");
                  }),
              other.poll + 100ms);
}

TEST_P(polling_client, watchdog_of_holdfast_keeps_the_lock) {
    client brisk{without_polls(500ms)};
    const any_lock ours = kind.make(brisk, name);
    lease held = ours->acquire();
    auto waiter = ask_them("try", {20'000});
    EXPECT_TRUE(renewed(name, 4));
    EXPECT_FALSE(waiter.ready());
    EXPECT_TRUE(held.release());
    EXPECT_EQ(waiter.get(), "true");
    tell_them("unlock");
}

// An extension sets the whole lease: redsync uses the expiry that the mutex was made with.
TEST_P(polling_client, its_extension_keeps_the_lock) {
    tell_them("try", {0, 10'000});
    auto waiter = waiter_for(*lock);
    ASSERT_TRUE(eventually(patience, [&] { return pttl(server, name) < 8'000ms; }));
    tell_them("extend", {10'000});
    EXPECT_GT(pttl(server, name), 8'000ms);
    EXPECT_FALSE(ready(waiter));
    tell_them("unlock");
    EXPECT_TRUE(waiter.get().valid());
}

TEST_P(polling_client, its_expired_lease_admits_holdfast) {
    tell_them("try", {0, 400});
    const stopwatch since;
    lease got = lock->try_acquire_for(patience);
    EXPECT_TRUE(got.valid());
    EXPECT_LT(since.took(), 400ms + slack);
    EXPECT_FALSE(ask_them("unlock").failure().empty());
    EXPECT_TRUE(got.valid());
    EXPECT_TRUE(got.release());
}

TEST_P(polling_client, expired_lease_of_holdfast_admits_it) {
    lease held = lock->acquire({.ttl = 400ms});
    const stopwatch since;
    EXPECT_EQ(tell_them("try", {20'000}), "true");
    EXPECT_LT(since.took(), 400ms + other.poll + slack);
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_EQ(server.command({"GET", name}).text, tell_them("owner"));
    tell_them("unlock");
}

TEST_P(polling_client, holdfast_can_evict_it) {
    tell_them("lock");
    auto waiter = waiter_for(*lock);
    ASSERT_TRUE(kind.waits(name));
    EXPECT_TRUE(evict(c, name));
    lease got = waiter.get();
    EXPECT_TRUE(got.valid());
    EXPECT_FALSE(ask_them("unlock").failure().empty());
    EXPECT_TRUE(got.release());
}

INSTANTIATE_TEST_SUITE_P(, polling_client,
                         ::testing::Combine(::testing::Values(poller{"redis_py", &redis_py, 100ms},
                                                              poller{"redsync", &redsync, 250ms},
                                                              poller{"node_redlock", &node_redlock, 300ms}),
                                            ::testing::Values(plain_shared, native_fenced_shared)),
                         [](const ::testing::TestParamInfo<poller_and_kind>& p) {
                             return std::string{std::get<1>(p.param).name} + "_" + std::get<0>(p.param).name;
                         });

}  // namespace
}  // namespace holdfast::test
