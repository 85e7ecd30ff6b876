// A mutex on a majority of several servers, shared with other redlock clients: redsync and node-redlock. Each
// puts its own owner token into the same key of each server, and polls.
#include "interop/several_scene.hpp"

#include <atomic>

namespace holdfast::test {
namespace {

class redlock_with_other_clients : public several_scene, public ::testing::WithParamInterface<poller> {
  protected:
    peer::request ask_them(std::string_view verb, const std::vector<long>& arguments = {}) {
        return they.ask("a", verb, "mutex", name, arguments);
    }
    std::string tell_them(std::string_view verb, const std::vector<long>& arguments = {}) {
        return ask_them(verb, arguments).get();
    }
    // A third client holds the lock on this server.
    void block(std::size_t i) { servers[i].command({"SET", name, "foreign", "PX", "60000"}); }
    void unblock(std::size_t i) { servers[i].command({"DEL", name}); }

    peer& they = GetParam().start();
    client c{redlock_settings()};
    mutex lock{c, name};
};

TEST_P(redlock_with_other_clients, both_clients_exclude_each_other) {
    tell_them("lock");
    EXPECT_TRUE(all_say({"GET", name}, tell_them("owner")));
    EXPECT_FALSE(lock.try_acquire());
    EXPECT_FALSE(lock.try_acquire_for(100ms));
    EXPECT_EQ(inspect(c, name).holders.at(0).owner, tell_them("owner"));
    tell_them("unlock");
    EXPECT_TRUE(nothing_is_left());

    for (const bool fenced : {false, true}) {
        mutex ours{c, name, {.fenced = fenced}};
        lease held = ours.acquire();
        EXPECT_EQ(tell_them("try"), "false");
        EXPECT_EQ(tell_them("try", {300}), "false");
        EXPECT_TRUE(held.valid());
        EXPECT_TRUE(all_say({"GET", name}, held.owner().str()));
        EXPECT_TRUE(held.release());
    }
    EXPECT_EQ(tell_them("try", {20'000}), "true");
    tell_them("unlock");
}

TEST_P(redlock_with_other_clients, majority_is_enough_for_either_client_and_excludes_the_other) {
    block(0);
    tell_them("lock");
    unblock(0);
    EXPECT_FALSE(lock.try_acquire());
    EXPECT_TRUE(eventually(patience, [&] { return servers_with_it() == several - 1; }))
        << "what we acquired on a minority is released";
    tell_them("unlock");
    EXPECT_TRUE(nothing_is_left());

    block(2);
    lease held = lock.acquire();
    unblock(2);
    EXPECT_EQ(tell_them("try"), "false");
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_EQ(tell_them("try", {20'000}), "true");
    tell_them("unlock");
}

TEST_P(redlock_with_other_clients, release_by_either_client_admits_the_other_at_its_next_poll) {
    EXPECT_LT(quickest(
                  [&] {
                      tell_them("lock");
                      auto waiter = waiter_for(lock);
                      EXPECT_FALSE(ready(waiter, 20ms));
                      return waiter;
                  },
                  [&] { tell_them("unlock"); }, [](auto& waiter) { EXPECT_TRUE(waiter.get().valid()); }),
              at_once);
    lease held = lock.acquire();
    auto waiter = ask_them("try", {20'000});
    EXPECT_FALSE(waiter.ready(2 * GetParam().poll));
    const stopwatch since;
    EXPECT_TRUE(held.release());
    EXPECT_EQ(waiter.get(), "true");
    EXPECT_LT(since.took(), GetParam().poll + slack);
    tell_them("unlock");
}

TEST_P(redlock_with_other_clients, renewal_by_either_client_excludes_the_other) {
    tell_them("try", {0, 3'000});
    auto ours = waiter_for(lock);
    for (auto& s : servers) ASSERT_TRUE(eventually(patience, [&] { return pttl(s, name) < 2'700ms; }));
    tell_them("extend", {3'000});
    for (auto& s : servers) EXPECT_GT(pttl(s, name), 2'700ms);
    EXPECT_FALSE(ready(ours));
    tell_them("unlock");
    EXPECT_TRUE(ours.get().release());

    client brisk{redlock_settings(500ms)};
    lease held = mutex{brisk, name}.acquire();
    auto theirs = ask_them("try", {20'000});
    EXPECT_TRUE(is_kept_beyond(500ms));
    EXPECT_FALSE(theirs.ready());
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_EQ(theirs.get(), "true");
    tell_them("unlock");
}

TEST_P(redlock_with_other_clients, expired_lease_of_either_client_admits_the_other) {
    tell_them("try", {0, 400});
    lease got = lock.try_acquire_for(patience);
    EXPECT_TRUE(got.valid());
    EXPECT_FALSE(ask_them("unlock").failure().empty());
    EXPECT_TRUE(got.valid());
    EXPECT_TRUE(got.release());

    lease held = lock.acquire({.ttl = 400ms});
    EXPECT_EQ(tell_them("try", {20'000}), "true");
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(all_say({"GET", name}, tell_them("owner")));
    tell_them("unlock");
}

// Votes split, are undone and are cast again, and two clients never hold the lock at once.
TEST_P(redlock_with_other_clients, both_clients_make_progress_under_contention) {
    std::atomic<bool> over{false};
    std::atomic<int> entered{0};
    auto ours = in_background([&] {
        while (!over) {
            if (lease held = lock.try_acquire_for(50ms)) {
                ++entered;
                EXPECT_TRUE(held.valid());
                EXPECT_TRUE(held.release());
            }
            (void)eventually(60ms, [&] { return over.load(); });  // the others poll seldom
        }
    });
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(tell_them("try", {20'000}), "true");
        const auto before = entered.load();
        EXPECT_FALSE(ready(ours, 150ms));  // time for three polls of ours
        EXPECT_EQ(entered, before) << "both held the lock";
        tell_them("unlock");
        EXPECT_TRUE(eventually(patience, [&] { return entered > before; }));
    }
    over = true;
    ours.get();
}

INSTANTIATE_TEST_SUITE_P(, redlock_with_other_clients,
                         ::testing::Values(poller{"redsync", &redsync_on_several, 250ms},
                                           poller{"node_redlock", &node_redlock_on_several, 300ms}),
                         [](const ::testing::TestParamInfo<poller>& p) { return std::string{p.param.name}; });

}  // namespace
}  // namespace holdfast::test
