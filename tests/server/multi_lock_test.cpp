// Locks of several servers as one, and what goes wrong with one of them.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

class on_two_servers : public ::testing::Test {
  protected:
    bool here_free() { return static_cast<bool>(mutex(other_here, "job").try_acquire()); }
    bool there_free() { return static_cast<bool>(recursive_mutex(other_there, "job").try_acquire()); }

    redis_server here;
    redis_server there;
    client c{settings(here.url())};
    client d{settings(there.url(), 3s)};  // so long it takes to be lost
    client other_here{settings(here.url())};
    client other_there{settings(there.url())};
    mutex first{c, "job"};
    recursive_mutex second{d, "job"};
    multi_lock both{first, second};
};

TEST_F(on_two_servers, the_same_name_is_two_locks) {
    auto held = both.acquire();
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(here_free());
    EXPECT_FALSE(there_free());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(here.keys(), std::vector<std::string>{});
    EXPECT_EQ(there.keys(), std::vector<std::string>{});
}

TEST_F(on_two_servers, it_is_lost_when_one_server_ends) {
    auto held = both.acquire();
    std::atomic<bool> told{false};
    const std::stop_callback tell(held.lost(), [&] { told = true; });
    there.stop();
    EXPECT_TRUE(eventually(patience, [&] { return told.load(); }));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.state(), lease_state::lost);
    EXPECT_EQ(both.states(held), (std::vector{lease_state::held, lease_state::lost})) << "which of them";
    EXPECT_FALSE(here_free()) << "the holder still has to stop its work";
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(here_free());
}

TEST_F(on_two_servers, one_that_cannot_be_asked_is_named_and_the_other_given_back) {
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
        EXPECT_EQ(e.members()[0].what, member_outcome::given_back);
        EXPECT_EQ(e.members()[1].what, member_outcome::not_acquired);
        EXPECT_EQ(e.members()[1].why, e.code());
        EXPECT_EQ(e.members()[1].name, lock_name{"job"});
    }
    EXPECT_TRUE(here_free());
}

TEST_F(on_two_servers, one_whose_answer_is_lost_is_taken_back) {
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

// A ttl counts from when all are held: until then none of them ends.
TEST_F(on_two_servers, a_ttl_does_not_run_while_the_others_are_waited_for) {
    mutex one{c, "a"};
    mutex two{d, "b"};
    const std::array<const detail::leasable*, 2> members{&one, &two};
    multi_lock all{members, {.patience = 1h}};
    auto last = mutex(other_there, "b").acquire();
    const milliseconds ttl = 5s;
    auto waiting = in_background([&] { return all.acquire({.ttl = ttl}); });
    ASSERT_TRUE(eventually(patience, [&] { return queued(there, "b") == 1; }));
    // It is held for longer than its ttl, and is still the same hold.
    const auto owner = native_kind::holder(here, "a");
    for (const stopwatch since; since.took() < ttl * 5 / 4;) {
        ASSERT_EQ(native_kind::holder(here, "a"), owner);
        std::this_thread::yield();
    }
    EXPECT_TRUE(last.release());
    auto held = waiting.get();
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(eventually(patience, [&] { return held.state() == lease_state::lost; }))
        << "it is not renewed";
    EXPECT_TRUE(eventually(patience, [&] { return here.keys().empty() && there.keys().empty(); }));
}

// Two that do not agree on the order, since they spell a server's URL differently, block each other for a
// while and not for ever.
TEST_F(on_two_servers, two_that_disagree_on_the_order_both_come_through) {
    const auto named = [](const redis_server& s) { return "redis://localhost:" + std::to_string(s.port()); };
    client f{named(here)};
    client g{named(there)};
    // By name they are alike, and by URL in opposite orders.
    mutex x1{c, "job"};
    mutex y1{g, "job"};
    mutex x2{f, "job"};
    mutex y2{d, "job"};
    const std::array<const detail::leasable*, 2> ones{&x1, &y1};
    const std::array<const detail::leasable*, 2> twos{&x2, &y2};
    std::atomic<int> waits_in_hand{0};
    const multi_options impatient{.on_wait = [&](const lock_name&) { ++waits_in_hand; }, .patience = 50ms};
    multi_lock one{ones, impatient};
    multi_lock two{twos, impatient};
    std::atomic<int> inside{0};
    // Until they have met, which on a busy machine they may not at once.
    const stopwatch since;
    const auto takes_turns = [&](multi_lock& lock) {
        for (int i = 0; i < 20 || (waits_in_hand == 0 && since.took() < patience); ++i) {
            const auto held = lock.acquire();
            EXPECT_EQ(inside.fetch_add(1), 0);
            inside.fetch_sub(1);
        }
    };
    auto beside = in_background([&] { takes_turns(two); });
    takes_turns(one);
    beside.get();
    EXPECT_GT(waits_in_hand, 0);
}

}  // namespace
}  // namespace holdfast::test
