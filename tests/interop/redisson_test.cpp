// Redisson and holdfast on one lock. Each test runs for each kind that both have, and for each version of
// Redisson.
#include "interop/java_scene.hpp"

#include <tuple>

namespace holdfast::test {
namespace {

using version_and_kind = std::tuple<const char*, shared_kind>;

class redisson_lock : public ::testing::TestWithParam<version_and_kind> {
  protected:
    const char* const version = std::get<0>(GetParam());
    const shared_kind kind = std::get<1>(GetParam());
    const std::string name = own_name();
    peer& java = redisson(version);
    redis_server& server = interop_server();
    client c{without_polls()};
    any_lock lock = kind.make(c, name);

    peer::request ask_java(std::string_view verb, const std::vector<long>& arguments = {},
                           std::string_view thread = "a") {
        return java.ask(thread, verb, kind.java, name, arguments);
    }
    std::string tell_java(std::string_view verb, const std::vector<long>& arguments = {},
                          std::string_view thread = "a") {
        return ask_java(verb, arguments, thread).get();
    }
    bool java_gets_it() {
        if (tell_java("try", {}, "b") != "true") return false;
        tell_java("unlock", {}, "b");
        return true;
    }
    bool we_get_it() { return static_cast<bool>(lock->try_acquire()); }
    std::string unlock_by_java_fails() { return ask_java("unlock").failure(); }
};

const std::string not_the_owner = "IllegalMonitorStateException";

TEST_P(redisson_lock, both_clients_exclude_each_other) {
    tell_java("lock");
    EXPECT_FALSE(we_get_it());
    EXPECT_FALSE(lock->try_acquire_for(50ms));
    EXPECT_EQ(inspect(c, name).holders.at(0).owner, tell_java("owner"));
    tell_java("unlock");

    lease held = lock->acquire();
    EXPECT_EQ(tell_java("locked"), "true");
    EXPECT_EQ(tell_java("held"), "false");
    EXPECT_FALSE(java_gets_it());
    EXPECT_EQ(tell_java("try", {50}, "b"), "false");
    EXPECT_TRUE(unlock_by_java_fails().starts_with(not_the_owner));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(java_gets_it());
}

// --- waking ----------------------------------------------------------------------------------------

TEST_P(redisson_lock, release_by_redisson_wakes_holdfast) {
    EXPECT_LT(quickest(
                  [&] {
                      tell_java("lock", {60'000});
                      auto waiter = waiter_for(*lock);
                      EXPECT_TRUE(kind.waits(name));
                      return waiter;
                  },
                  [&] { tell_java("unlock"); }, [](auto& waiter) { EXPECT_TRUE(waiter.get().valid()); }),
              at_once);
}

TEST_P(redisson_lock, release_by_holdfast_wakes_redisson) {
    lease held;
    EXPECT_LT(quickest(
                  [&] {
                      held = lock->acquire();
                      auto waiter = ask_java("lock");
                      EXPECT_TRUE(kind.waits(name));
                      EXPECT_FALSE(waiter.ready());
                      return waiter;
                  },
                  [&] { EXPECT_TRUE(held.release()); },
                  [&](auto& waiter) {
                      waiter.get();
                      tell_java("unlock");
                  }),
              at_once);
}

TEST_P(redisson_lock, timed_try_of_either_ends_in_time_or_with_the_lock) {
    lease held = lock->acquire();
    auto brief = ask_java("try", {100}, "b");
    auto longer = ask_java("try", {20'000}, "d");
    EXPECT_EQ(brief.get(), "false");
    EXPECT_FALSE(longer.ready());
    EXPECT_TRUE(held.release());
    EXPECT_EQ(longer.get(), "true");

    EXPECT_FALSE(lock->try_acquire_for(100ms));
    auto ours = waiter_for(*lock);
    EXPECT_TRUE(kind.waits(name));
    tell_java("unlock", {}, "d");
    EXPECT_TRUE(ours.get().valid());
}

// --- nested holds ----------------------------------------------------------------------------------

TEST_P(redisson_lock, redisson_releases_with_its_last_unlock) {
    tell_java("lock");
    tell_java("lock");
    EXPECT_EQ(tell_java("holds"), "2");
    EXPECT_EQ(kind.holds(name), "2");
    auto waiter = waiter_for(*lock);
    ASSERT_TRUE(kind.waits(name));
    tell_java("unlock");
    EXPECT_FALSE(ready(waiter, 100ms));
    tell_java("unlock");
    EXPECT_TRUE(waiter.get().valid());
}

TEST_P(redisson_lock, holdfast_releases_with_its_last_unlock) {
    lock->lock();
    lock->lock();
    EXPECT_TRUE(eventually(patience, [&] { return kind.holds(name) == "2"; }));
    auto waiter = ask_java("lock");
    ASSERT_TRUE(kind.waits(name));
    lock->unlock();
    EXPECT_TRUE(eventually(patience, [&] { return kind.holds(name) == "1"; }));
    EXPECT_FALSE(waiter.ready(100ms));
    lock->unlock();
    waiter.get();
    tell_java("unlock");
}

// --- leases ----------------------------------------------------------------------------------------

TEST_P(redisson_lock, watchdog_of_redisson_keeps_the_lock) {
    tell_java("lock");
    auto waiter = waiter_for(*lock);
    // Redisson renews each third of its timeout: after four renewals the first lease is over.
    EXPECT_TRUE(renewed(name, 4));
    EXPECT_FALSE(ready(waiter));
    tell_java("unlock");
    EXPECT_TRUE(waiter.get().valid());
}

TEST_P(redisson_lock, watchdog_of_holdfast_keeps_the_lock) {
    client brisk{without_polls(brisk_lease)};
    const any_lock ours = kind.make(brisk, name);
    lease held = ours->acquire();
    auto waiter = ask_java("lock");
    EXPECT_TRUE(renewed(name, 4));
    EXPECT_FALSE(waiter.ready());
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    waiter.get();
    tell_java("unlock");
}

TEST_P(redisson_lock, expired_lease_of_redisson_admits_holdfast) {
    tell_java("lock", {300});
    const stopwatch since;
    lease got = lock->try_acquire_for(patience);
    EXPECT_TRUE(got.valid());
    EXPECT_LT(since.took(), 300ms + slack);
    EXPECT_TRUE(unlock_by_java_fails().starts_with(not_the_owner));
    EXPECT_TRUE(got.valid());
    EXPECT_TRUE(got.release());
}

TEST_P(redisson_lock, expired_lease_of_holdfast_admits_redisson) {
    lease held = lock->acquire({.ttl = 300ms});
    const stopwatch since;
    tell_java("lock");
    EXPECT_LT(since.took(), 300ms + slack);
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_EQ(tell_java("held"), "true");
    tell_java("unlock");
}

TEST_P(redisson_lock, killed_redisson_blocks_holdfast_for_its_watchdog_timeout) {
    const auto doomed = start_redisson(interop_server(), version);
    doomed->tell("a", "lock", kind.java, name);
    auto waiter = waiter_for(*lock);
    ASSERT_TRUE(kind.waits(name));
    doomed->process().kill();
    const stopwatch since;
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), brisk_lease + slack);
}

TEST_P(redisson_lock, killed_holdfast_blocks_redisson_for_its_lease) {
    auto doomed = child_process::fork_call([&](const parent_link& parent) {
        client mine{without_polls(brisk_lease)};
        const lease held = kind.make(mine, name)->acquire();
        parent.report("held");
        (void)parent.await_line();
        return 0;
    });
    ASSERT_TRUE(doomed.wait_for_output("held", patience));
    auto waiter = ask_java("lock");
    ASSERT_TRUE(kind.waits(name));
    doomed.kill();
    const stopwatch since;
    waiter.get();
    EXPECT_LT(since.took(), brisk_lease + slack);
    tell_java("unlock");
}

// --- eviction --------------------------------------------------------------------------------------

TEST_P(redisson_lock, force_unlock_by_redisson_wakes_holdfast) {
    lease held = lock->acquire();
    client d{without_polls()};
    const any_lock other = kind.make(d, name);
    auto waiter = waiter_for(*other);
    ASSERT_TRUE(kind.waits(name));
    const stopwatch since;
    EXPECT_EQ(tell_java("force"), "true");
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), slack);
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_EQ(tell_java("force"), "false");
}

TEST_P(redisson_lock, eviction_by_holdfast_wakes_redisson) {
    tell_java("lock");
    auto waiter = ask_java("lock", {}, "b");
    ASSERT_TRUE(kind.waits(name));
    const stopwatch since;
    EXPECT_TRUE(evict(c, name));
    waiter.get();
    EXPECT_LT(since.took(), slack);
    EXPECT_TRUE(unlock_by_java_fails().starts_with(not_the_owner));
    tell_java("unlock", {}, "b");
    EXPECT_FALSE(evict(c, name));
}

// --- what stays behind -----------------------------------------------------------------------------

// Redisson 3.52 to 4.2 leave a key after each unlock, for some seconds.
TEST_P(redisson_lock, nothing_stays_behind_and_redisson_leftovers_are_not_locks) {
    tell_java("lock");
    auto ours = waiter_for(*lock);
    ASSERT_TRUE(kind.waits(name));
    tell_java("unlock");
    // A holder that had to wait listens until it has released: the test would count our client, not Java.
    EXPECT_TRUE(ours.get().release());
    ASSERT_TRUE(kind.waits(name, 0));
    lease held = lock->acquire();
    auto theirs = ask_java("lock");
    ASSERT_TRUE(kind.waits(name));
    EXPECT_TRUE(held.release());
    theirs.get();
    tell_java("unlock");

    std::vector<std::string> left;
    EXPECT_TRUE(eventually(patience, [&] {
        left = server.keys();
        // The names of kinds and versions in gtest keep the keys of the tests apart.
        std::erase_if(left, [&](const std::string& key) { return key.find(name) == std::string::npos; });
        std::erase(left, "redisson_lock_token:{" + name + "}");  // the counter must never be lost
        std::erase_if(left, [&](const std::string& key) {
            return key.starts_with("redisson_unlock_latch:") && pttl(server, key) > 0ms;
        });
        return left.empty();
    })) << ::testing::PrintToString(left);
    EXPECT_TRUE(list(c, "*" + name + "*").empty());
}

INSTANTIATE_TEST_SUITE_P(, redisson_lock,
                         ::testing::Combine(both_redissons(),
                                            ::testing::Values(recursive_shared, fair_shared, fenced_shared,
                                                              writing_shared)),
                         [](const ::testing::TestParamInfo<version_and_kind>& p) {
                             return std::string{std::get<1>(p.param).name} + "_" +
                                    as_identifier(std::get<0>(p.param));
                         });

}  // namespace
}  // namespace holdfast::test
