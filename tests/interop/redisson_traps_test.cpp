// Errors of Redisson itself, with real Java, and how holdfast copes. docs/wire/redisson-vectors.md has the
// table. Other tests of such errors: killed_holdfast_waiter_delays_redisson_for_the_fair_liveness,
// redisson_that_has_just_asked_..., downgraded_redisson_writer_..., nothing_stays_behind_...
#include "interop/java_scene.hpp"

namespace holdfast::test {
namespace {

class redisson_trap : public java_scene {
  protected:
    const std::string queue = "redisson_lock_queue:{" + name + "}";
    const std::string limits = "redisson_lock_timeout:{" + name + "}";
};

// The failed try takes 300 s off their limits, however long it waited itself, and then they look dead.
TEST_P(redisson_trap, failed_async_try_keeps_the_places_of_the_waiters_behind_it) {
    fair_mutex lock{c, name};
    lease held = lock.acquire();
    auto fails = ask_java("a", "try_async", "fair", {300, 30'000});
    ASSERT_TRUE(fair_shared.waits(name));
    client d{settings(server.url())};
    fair_mutex others{d, name};
    auto waiter = waiter_for(others);
    ASSERT_TRUE(fair_shared.waits(name, 2));
    const auto ours = server.command({"LINDEX", queue, "1"}).text;
    EXPECT_EQ(fails.get(), "false");
    ASSERT_TRUE(fair_shared.waits(name, 1));
    // A Java waiter that would overtake it.
    auto java_waits = ask_java("b", "lock", "fair");
    ASSERT_TRUE(fair_shared.waits(name, 2));
    EXPECT_EQ(server.command({"LINDEX", queue, "0"}).text, ours);
    EXPECT_TRUE(held.release());
    lease got = waiter.get();
    EXPECT_EQ(got.owner().str(), ours);
    EXPECT_FALSE(java_waits.ready());
    EXPECT_TRUE(got.release());
    java_waits.get();
    tell_java("b", "unlock", "fair");
}

// Java's waiters ask without a pause then; holdfast limits for how long.
TEST_P(redisson_trap, dead_head_of_a_fair_queue_does_not_block_for_five_minutes) {
    fair_mutex lock{c, name};
    lease held = lock.acquire();
    const auto now = server.command({"TIME"}).items.at(0).text;
    server.command({"RPUSH", queue, "dead:1"});
    server.command({"ZADD", limits, std::to_string((std::stoll(now) + 300) * 1000), "dead:1"});
    auto java_waits = ask_java("a", "lock", "fair");
    ASSERT_TRUE(fair_shared.waits(name, 2));
    config brisk = settings(server.url());
    brisk.redis.fair_liveness = 1s;
    brisk.poll_gap = 200ms;
    client d{brisk};
    fair_mutex others{d, name};
    auto waiter = waiter_for(others);
    ASSERT_TRUE(fair_shared.waits(name, 3));
    const stopwatch since;
    EXPECT_TRUE(held.release());
    java_waits.get();
    EXPECT_LT(since.took(), brisk.redis.fair_liveness + slack);
    tell_java("a", "unlock", "fair");
    EXPECT_TRUE(waiter.get().valid());
}

// In Redisson alone it blocks all clients for ever.
TEST_P(redisson_trap, head_without_a_limit_blocks_redisson_until_holdfast_comes) {
    server.command({"RPUSH", queue, "dead:1"});
    EXPECT_EQ(tell_java("a", "try", "fair", {500}), "false");
    config brisk = settings(server.url());
    brisk.redis.fair_liveness = 400ms;
    brisk.poll_gap = 200ms;
    client d{brisk};
    fair_mutex lock{d, name};
    EXPECT_TRUE(lock.try_acquire_for(patience).release());
    EXPECT_EQ(tell_java("a", "try", "fair"), "true");
    tell_java("a", "unlock", "fair");
}

// The unlock of the read also ends the renewal of the write: Java believes that it still writes.
TEST_P(redisson_trap, unlock_of_a_nested_read_ends_the_write_at_its_timeout) {
    tell_java("a", "lock", "write");
    tell_java("a", "lock", "read");
    tell_java("a", "unlock", "read");
    shared_mutex lock{c, name};
    EXPECT_FALSE(lock.try_acquire());
    const stopwatch since;
    lease got = lock.try_acquire_for(patience);
    EXPECT_TRUE(got.valid());
    EXPECT_LT(since.took(), brisk_lease + slack);
    EXPECT_NE(ask_java("a", "unlock", "write").failure().find("IllegalMonitorState"), std::string::npos);
    EXPECT_TRUE(got.valid());
}

// Java's renewal cuts the TTL of all holds to its own. Our lease is renewed, so it survives Java's death.
TEST_P(redisson_trap, redisson_reader_shortens_our_ttl_but_does_not_end_our_lease) {
    client renewing{without_polls(2 * brisk_lease)};
    shared_mutex lock{renewing, name};
    const lease reading = lock.acquire_shared();
    const auto doomed = start_redisson(interop_server(), GetParam());
    doomed->tell("a", "lock", "read", name);
    EXPECT_TRUE(eventually(patience, [&] { return pttl(server, name) <= brisk_lease; }));
    doomed->process().kill();
    EXPECT_TRUE(renewed(name, 2));
    EXPECT_TRUE(reading.valid());
    EXPECT_EQ(tell_java("b", "try", "write"), "false");
}

TEST_P(redisson_trap, lock_and_read_write_lock_cannot_share_a_name) {
    recursive_mutex lock{c, name};
    shared_mutex readers{c, name};
    tell_java("a", "lock", "recursive");
    EXPECT_EQ(code_of([&] { (void)readers.try_acquire(); }), errc::wrong_kind);
    EXPECT_EQ(code_of([&] { (void)readers.try_acquire_shared(); }), errc::wrong_kind);
    tell_java("a", "unlock", "recursive");
    tell_java("a", "lock", "read");
    EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::wrong_kind);
    tell_java("a", "unlock", "read");
    tell_java("a", "lock", "write");
    EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::wrong_kind);
    tell_java("a", "unlock", "write");
    // Java does not check the kind, and holdfast cannot prevent this.
    const lease held = lock.acquire();
    EXPECT_EQ(tell_java("a", "try", "read"), "true");
    tell_java("a", "unlock", "read");
}

// An RLock would throw.
TEST_P(redisson_trap, unlock_of_an_expired_fair_lock_keeps_the_lock_of_holdfast) {
    tell_java("a", "lock", "fair", {100});
    ASSERT_TRUE(eventually(patience, [&] { return !exists(server, name); }));
    tell_java("a", "unlock", "fair");
    tell_java("a", "lock", "fair", {100});
    fair_mutex lock{c, name};
    const lease got = lock.try_acquire_for(patience);
    EXPECT_NE(ask_java("a", "unlock", "fair").failure().find("IllegalMonitorState"), std::string::npos);
    EXPECT_TRUE(got.valid());
}

// --- RSpinLock: the layout of RLock, and no messages -------------------------------------------------------

TEST_P(redisson_trap, spin_lock_sends_no_message_and_holdfast_polls_in_time) {
    client polling{settings(server.url())};
    recursive_mutex listening{polling, name};
    recursive_mutex asking{polling, name, {.wake = wake::poll}};
    for (auto* lock : {&listening, &asking}) {
        tell_java("a", "lock", "spin", {60'000});
        auto waiter = waiter_for(*lock);
        EXPECT_FALSE(ready(waiter, 100ms));
        const stopwatch since;
        tell_java("a", "unlock", "spin");
        lease got = waiter.get();
        EXPECT_TRUE(got.valid());
        EXPECT_LT(since.took(), polling.settings().poll_gap + slack);
        EXPECT_EQ(tell_java("b", "try", "spin"), "false");
        auto spins = ask_java("b", "lock", "spin");
        EXPECT_TRUE(got.release());
        spins.get();
        tell_java("b", "unlock", "spin");
    }
}

INSTANTIATE_TEST_SUITE_P(, redisson_trap, both_redissons(), version_name);

}  // namespace
}  // namespace holdfast::test
