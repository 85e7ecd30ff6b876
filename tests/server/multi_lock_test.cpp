// Locks on several servers acquired as one, with faults on one of the servers.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

class multi_lock_on_two_servers : public ::testing::Test {
  protected:
    bool here_free() { return static_cast<bool>(mutex(other_here, "job").try_acquire()); }
    bool there_free() { return static_cast<bool>(recursive_mutex(other_there, "job").try_acquire()); }

    redis_server here;
    redis_server there;
    client c{settings(here.url())};
    client d{settings(there.url(), 3s)};  // the time until the lease is lost
    client other_here{settings(here.url())};
    client other_there{settings(there.url())};
    mutex first{c, "job"};
    recursive_mutex second{d, "job"};
    multi_lock both{first, second};
};

TEST_F(multi_lock_on_two_servers, same_name_on_two_servers_is_two_locks) {
    auto held = both.acquire();
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(here_free());
    EXPECT_FALSE(there_free());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(here.keys(), std::vector<std::string>{});
    EXPECT_EQ(there.keys(), std::vector<std::string>{});
}

TEST_F(multi_lock_on_two_servers, lock_is_lost_when_one_server_stops) {
    auto held = both.acquire();
    std::atomic<bool> notified{false};
    const std::stop_callback on_lost(held.lost_token(), [&] { notified = true; });
    there.stop();
    EXPECT_TRUE(eventually(patience, [&] { return notified.load(); }));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.state(), lease_state::lost);
    EXPECT_EQ(both.states(held), (std::vector{lease_state::held, lease_state::lost})) << "which of them";
    EXPECT_FALSE(here_free()) << "the holder still has to stop its work";
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(here_free());
}

TEST_F(multi_lock_on_two_servers, unreachable_member_is_named_and_the_other_is_released) {
    ASSERT_TRUE(both.acquire().release());  // both connections are up
    there.stop();
    // A held lock waits for its server for config::patience; a try does not.
    try {
        (void)both.try_acquire();
        FAIL() << "acquired";
    } catch (const multi_error& e) {
        EXPECT_EQ(e.code(), condition::try_later) << e.what();
        EXPECT_NE(std::string{e.what()}.find("together"), std::string::npos) << e.what();
        ASSERT_EQ(e.members().size(), 2U);
        EXPECT_EQ(e.members()[0].what, member_outcome::released);
        EXPECT_EQ(e.members()[1].what, member_outcome::not_acquired);
        EXPECT_EQ(e.members()[1].why, e.code());
        EXPECT_EQ(e.members()[1].name, lock_name{"job"});
    }
    EXPECT_TRUE(here_free());
}

TEST_F(multi_lock_on_two_servers, member_with_a_late_reply_is_undone) {
    fault_proxy net{there};
    auto hasty = settings(net.url());
    hasty.answer_timeout = 100ms * slower;
    client e{hasty};
    recursive_mutex over_net{e, "job"};
    multi_lock all{first, over_net};
    ASSERT_TRUE(used_once(over_net));
    net.hold_reply_of(recursive::look());
    std::error_code ec;
    EXPECT_FALSE(all.try_acquire(ec));
    EXPECT_EQ(ec, condition::unknown) << ec.message();
    net.release_replies();
    EXPECT_TRUE(eventually(patience, [&] { return here_free() && there_free(); }));
}

// A ttl counts from the moment all locks are held: none ends before.
TEST_F(multi_lock_on_two_servers, ttl_starts_when_all_locks_are_held) {
    mutex one{c, "a"};
    mutex two{d, "b"};
    const std::array<const leasable*, 2> members{&one, &two};
    multi_lock all{members, {.patience = 1h}};
    auto last = mutex(other_there, "b").acquire();
    const milliseconds ttl = 5s;
    auto waiting = in_background([&] { return all.acquire({.ttl = ttl}); });
    ASSERT_TRUE(eventually(patience, [&] { return queued(there, "b") == 1; }));
    // The same owner holds the lock for longer than its ttl.
    const auto owner = native_kind::holder(here, "a");
    for (const stopwatch since; since.took() < ttl * 5 / 4;) {
        ASSERT_EQ(native_kind::holder(here, "a"), owner);
        std::this_thread::yield();
    }
    EXPECT_TRUE(last.release());
    auto held = waiting.get();
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(eventually(patience, [&] { return held.state() == lease_state::lost; }))
        << "a ttl is not renewed";
    EXPECT_TRUE(eventually(patience, [&] { return here.keys().empty() && there.keys().empty(); }));
}

// Two clients that spell a server's URL differently lock in different orders. They block each other for a
// while, not for ever.
TEST_F(multi_lock_on_two_servers, clients_with_different_lock_orders_both_proceed) {
    const auto named = [](const redis_server& s) { return "redis://localhost:" + std::to_string(s.port()); };
    client f{named(here)};
    client g{named(there)};
    // The names are equal; the URLs sort in opposite orders.
    mutex x1{c, "job"};
    mutex y1{g, "job"};
    mutex x2{f, "job"};
    mutex y2{d, "job"};
    const std::array<const leasable*, 2> ones{&x1, &y1};
    const std::array<const leasable*, 2> twos{&x2, &y2};
    std::atomic<int> waits_while_holding{0};
    const multi_options impatient{.on_wait = [&](const lock_name&) { ++waits_while_holding; },
                                  .patience = 50ms};
    multi_lock one{ones, impatient};
    multi_lock two{twos, impatient};
    std::atomic<int> inside{0};
    // Until the two have met, which may take a while on a busy machine.
    const stopwatch since;
    const auto take_turns = [&](multi_lock& lock) {
        for (int i = 0; i < 20 || (waits_while_holding == 0 && since.took() < patience); ++i) {
            const auto held = lock.acquire();
            EXPECT_EQ(inside.fetch_add(1), 0);
            inside.fetch_sub(1);
        }
    };
    auto other_turns = in_background([&] { take_turns(two); });
    take_turns(one);
    other_turns.get();
    EXPECT_GT(waits_while_holding, 0);
}

}  // namespace
}  // namespace holdfast::test
