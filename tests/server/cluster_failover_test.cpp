// A cluster loses a master while its locks are held and waited for.
#include "server/cluster_world.hpp"

namespace holdfast::test {
namespace {

enum class failure { killed, stopped };

class cluster_failover : public ::testing::TestWithParam<failure> {
  protected:
    static void SetUpTestSuite() { scene_ = std::make_unique<cluster_scene>(); }
    static void TearDownTestSuite() { scene_.reset(); }
    static cluster_scene& scene() { return *scene_; }

    void lose(std::size_t n) {
        if (GetParam() == failure::killed)
            scene().kill(n);
        else
            scene().pause(n);
    }
    void restore(std::size_t n) {
        scene().bring_back(n);
        scene().wait_until_well();
    }

  private:
    static inline std::unique_ptr<cluster_scene> scene_;
};
INSTANTIATE_TEST_SUITE_P(masters, cluster_failover, ::testing::Values(failure::killed, failure::stopped),
                         [](const auto& how) { return how.param == failure::killed ? "killed" : "stopped"; });

TEST_P(cluster_failover, keeps_replicated_locks_and_wakes_waiters) {
    client a{settings(scene().url(), 12s)};
    client b{settings(scene().url(), 12s)};
    event_recorder events{a};
    const auto lost = scene().masters().front();
    const auto name = scene().key_on(lost, "kept:");
    mutex mine{a, name};
    mutex theirs{b, name};
    recursive_mutex again{a, "{" + name + "}again"};
    auto held = mine.acquire();
    auto held_too = again.acquire();
    auto waiting = waiter_for(theirs);
    ASSERT_TRUE(waits_in(scene(), name));
    scene().wait_for_replica(lost);
    lose(lost);
    ASSERT_TRUE(eventually(
        patience, [&] { return scene().is_well() && scene().owner_of(scene().slot_of(name)) != lost; }));
    // Both leases are renewed by the new master.
    const auto renewals = a.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return a.stats().renewals >= renewals + 2; }));
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held_too.valid());
    EXPECT_FALSE(ready(waiting));
    const stopwatch since;
    EXPECT_EQ(held.release(), release_outcome::released);
    ASSERT_TRUE(ready(waiting, patience));
    EXPECT_LT(since.took(), 2s + slack);  // a poll gap if it had not subscribed again yet
    EXPECT_TRUE(waiting.get().valid());
    EXPECT_EQ(held_too.release(), release_outcome::released);
    EXPECT_EQ(events.count(event_kind::lost), 0u);
    EXPECT_TRUE(events.has(event_kind::store_down));
    EXPECT_TRUE(events.has(event_kind::store_up));
    restore(lost);
}

TEST_P(cluster_failover, lets_competing_clients_continue_afterwards) {
    const auto lost = scene().masters().front();
    const auto name = scene().key_on(lost, "contest:");
    contest<plain> both{settings(scene().url(), 5s), name};
    ASSERT_TRUE(both.gets(20));
    lose(lost);
    EXPECT_TRUE(both.gets(1));
    EXPECT_TRUE(both.gets(20)) << both.errors();
    both.end();
    restore(lost);
}

TEST_P(cluster_failover, does_not_affect_locks_on_other_servers) {
    const auto all = scene().masters();
    const auto lost = all.front();
    client c{settings(scene().url(), 12s)};
    mutex lock{c, scene().key_on(all.back(), "aside:")};
    auto held = lock.acquire();
    lose(lost);
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
    ASSERT_TRUE(eventually(patience, [&] { return scene().is_well(); }));
    EXPECT_TRUE(lock.try_acquire());
    restore(lost);
}

// Locks of many slots fail with one server, and those of the others go on.
TEST(cluster_breaker, is_one_for_each_server) {
    cluster_scene three{{.masters = 3, .replicas = false}};
    for (std::size_t n = 0; n < three.size(); ++n)
        ASSERT_EQ(three.server(n).command({"CONFIG", "SET", "cluster-require-full-coverage", "no"}).text,
                  "OK");
    auto how = settings(three.url());
    how.policies = {{.name = "fast", .match = "*"}};
    how.answer_timeout = 300ms * slower;
    client c{how};
    event_recorder events{c};
    const auto lost = three.masters().front();
    const auto other = three.masters().back();
    const auto ask = [&](std::size_t server, const std::string& prefix) {
        std::error_code ec;
        return static_cast<bool>(mutex(c, three.key_on(server, prefix)).try_acquire(ec));
    };
    ASSERT_TRUE(ask(lost, "a:"));
    three.pause(lost);
    ASSERT_TRUE(eventually(patience, [&] {
        for (const auto* const other_slot : {"a:", "b:", "c:"}) (void)ask(lost, other_slot);
        return events.count(event_kind::breaker_open) > 0;
    }));
    EXPECT_TRUE(ask(other, "a:"));
    const auto opened = events.last(event_kind::breaker_open).detail;
    const auto address = "127.0.0.1:" + std::to_string(three.server(lost).port());
    EXPECT_NE(opened.find(address + ": several"), std::string::npos) << opened;
    three.bring_back(lost);
    EXPECT_TRUE(eventually(patience, [&] { return ask(lost, "b:"); }));
    EXPECT_TRUE(events.has(event_kind::breaker_closed));
    EXPECT_EQ(events.count(event_kind::breaker_open), 1U);
}

// No server serves a slot: an error says so in bounded time, and no lock counts as free or as held. No
// request is on its way when it happens, so nothing is unknown.
TEST(uncovered_slot, gives_try_later_and_works_when_it_is_served_again) {
    cluster_scene three{{.masters = 3, .replicas = false}};
    const std::string name = "nowhere";
    const auto slot = std::to_string(three.slot_of(name));
    const auto owner = three.owner_of(three.slot_of(name));
    client c{settings(three.url())};
    mutex lock{c, name};
    recursive_mutex again{c, "{" + name + "}again"};
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
    for (std::size_t n = 0; n < three.size(); ++n)
        ASSERT_EQ(three.server(n).command({"CLUSTER", "DELSLOTS", slot}).text, "OK");
    const stopwatch since;
    EXPECT_EQ(code_of([&] { (void)lock.try_lock(); }), condition::try_later);
    // On a slow machine its last request has no answer yet when the wait is over.
    const auto code = code_of([&] { (void)again.try_acquire_for(1s * slower); });
    EXPECT_TRUE(code == condition::try_later || code == errc::unknown_outcome) << code.message();
    EXPECT_LT(since.took(), 2 * answer_timeout + 1s * slower + slack);
    ASSERT_EQ(three.server(owner).command({"CLUSTER", "ADDSLOTS", slot}).text, "OK");
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        return static_cast<bool>(lock.try_acquire(ec));
    }));
}

}  // namespace
}  // namespace holdfast::test
