// Locks on several servers, shared with Redisson: its MultiLock, which holds an RLock on each of them, and
// its RedLock, which holds one on most of them.
#include "interop/several_scene.hpp"

namespace holdfast::test {
namespace {

const std::string multi_lock_kind = "multi";
const std::string redlock_kind = "red";

class redisson_on_several_servers : public several_scene {
  protected:
    peer::request ask_java(std::string_view verb, const std::string& kind,
                           const std::vector<long>& arguments = {}, std::string_view thread = "a") {
        return java.ask(thread, verb, kind, name, arguments);
    }
    std::string tell_java(std::string_view verb, const std::string& kind,
                          const std::vector<long>& arguments = {}, std::string_view thread = "a") {
        return ask_java(verb, kind, arguments, thread).get();
    }
    bool java_gets(const std::string& kind) {
        if (tell_java("try", kind, {}, "b") != "true") return false;
        tell_java("unlock", kind, {}, "b");
        return true;
    }
    [[nodiscard]] std::string javas_owner(const std::string& kind, std::size_t server) {
        return tell_java("owner", kind, {static_cast<long>(server)});
    }
    // A client listens for the lock on one of the servers.
    [[nodiscard]] bool has_waiter() const {
        return eventually(patience, [&] {
            return std::any_of(servers.begin(), servers.end(),
                               [&](auto& s) { return recursive::waiters(s, name) > 0; });
        });
    }
    // The time from our release until Java's waiter has the lock.
    template <class Lock>
    [[nodiscard]] milliseconds time_until_java_acquires(Lock& ours, const std::string& kind) {
        lease held;
        return quickest(
            [&] {
                held = ours.acquire();
                auto waiter = ask_java("try", kind, {20'000});
                EXPECT_TRUE(has_waiter());
                EXPECT_FALSE(waiter.ready(50ms));  // time for it to ask once more
                return waiter;
            },
            [&] { EXPECT_TRUE(held.release()); },
            [&](auto& waiter) {
                EXPECT_EQ(waiter.get(), "true");
                tell_java("unlock", kind);
            });
    }
    [[nodiscard]] std::string holder_on(std::size_t i) const { return recursive::holder(servers[i], name); }
    [[nodiscard]] bool counted_on_all(const std::string& holds) const {
        return eventually(patience, [&] {
            return std::all_of(servers.begin(), servers.end(), [&](auto& s) {
                return s.command({"HGET", name, recursive::holder(s, name)}).text == holds;
            });
        });
    }
    // Puts the hold of another Java there.
    void block(std::initializer_list<std::size_t> which) {
        for (const auto i : which) {
            servers[i].command(recursive::foreign_hold(name));
            servers[i].command({"PEXPIRE", name, "60000"});
        }
    }
    void unblock(std::initializer_list<std::size_t> which) {
        for (const auto i : which) servers[i].command({"DEL", name});
    }

    peer& java = redisson_on_several();
    std::array<client, several> each{client{settings_of(0)}, client{settings_of(1)}, client{settings_of(2)}};
    std::array<recursive_mutex, several> members{
        recursive_mutex{each[0], name}, recursive_mutex{each[1], name}, recursive_mutex{each[2], name}};
    multi_lock all{members[0], members[1], members[2]};
    client voters{redlock_settings()};
    recursive_mutex most{voters, name};
};

// --- MultiLock ---------------------------------------------------------------------------------------

TEST_F(redisson_on_several_servers, multi_locks_of_both_clients_exclude_each_other) {
    tell_java("lock", multi_lock_kind);
    for (std::size_t i = 0; i < several; ++i) EXPECT_EQ(holder_on(i), javas_owner(multi_lock_kind, i));
    EXPECT_FALSE(all.try_acquire());
    EXPECT_FALSE(all.try_acquire_for(50ms));
    for (auto& one : members) EXPECT_FALSE(one.try_acquire());
    EXPECT_FALSE(most.try_acquire());
    tell_java("unlock", multi_lock_kind);
    EXPECT_TRUE(nothing_is_left());

    lease held = all.acquire();
    EXPECT_FALSE(java_gets(multi_lock_kind));
    EXPECT_EQ(tell_java("try", multi_lock_kind, {50}, "b"), "false");
    EXPECT_FALSE(java_gets(redlock_kind));
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(java_gets(multi_lock_kind));
}

TEST_F(redisson_on_several_servers, multi_lock_that_lacks_one_server_holds_none) {
    block({1});
    EXPECT_EQ(tell_java("try", multi_lock_kind, {50}), "false");
    EXPECT_FALSE(all.try_acquire());
    EXPECT_FALSE(all.try_acquire_for(50ms));
    EXPECT_TRUE(eventually(patience, [&] { return servers_with_it() == 1; }));
    unblock({1});
    EXPECT_TRUE(java_gets(multi_lock_kind));
    EXPECT_TRUE(all.try_acquire());
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redisson_on_several_servers, release_of_a_multi_lock_wakes_the_other_client) {
    EXPECT_LT(quickest(
                  [&] {
                      tell_java("lock", multi_lock_kind, {60'000});
                      auto waiter = waiter_for(all);
                      EXPECT_TRUE(has_waiter());
                      EXPECT_FALSE(ready(waiter, 50ms));
                      return waiter;
                  },
                  [&] { tell_java("unlock", multi_lock_kind); },
                  [](auto& waiter) { EXPECT_TRUE(waiter.get().valid()); }),
              at_once);
    EXPECT_LT(time_until_java_acquires(all, multi_lock_kind), at_once);
}

TEST_F(redisson_on_several_servers, multi_lock_is_released_with_its_last_unlock) {
    tell_java("lock", multi_lock_kind);
    tell_java("lock", multi_lock_kind);
    EXPECT_TRUE(counted_on_all("2"));
    tell_java("unlock", multi_lock_kind);
    EXPECT_FALSE(all.try_acquire());
    tell_java("unlock", multi_lock_kind);

    all.lock();
    all.lock();
    EXPECT_TRUE(counted_on_all("2"));
    all.unlock();
    EXPECT_FALSE(java_gets(multi_lock_kind));
    all.unlock();
    EXPECT_TRUE(java_gets(multi_lock_kind));
}

// --- RedLock -----------------------------------------------------------------------------------------

TEST_F(redisson_on_several_servers, redlocks_of_both_clients_exclude_each_other) {
    tell_java("lock", redlock_kind);
    for (std::size_t i = 0; i < several; ++i) EXPECT_EQ(holder_on(i), javas_owner(redlock_kind, i));
    EXPECT_FALSE(most.try_acquire());
    EXPECT_FALSE(most.try_acquire_for(100ms));
    // Redisson has a client of its own for each server, so each server knows another owner.
    const auto seen = inspect(voters, name);
    EXPECT_EQ(seen.layout, "recursive_mutex, an owner each on 3 of 3 members");
    EXPECT_EQ(seen.holders.size(), several);
    tell_java("unlock", redlock_kind);
    EXPECT_TRUE(nothing_is_left()) << "our attempts took nothing and left nothing";

    lease held = most.acquire();
    EXPECT_FALSE(java_gets(redlock_kind));
    EXPECT_EQ(tell_java("try", redlock_kind, {50}, "b"), "false");
    EXPECT_TRUE(ask_java("unlock", redlock_kind).get().empty())
        << "Redisson ignores members that it cannot unlock";
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(all_say({"HGET", name, held.owner().str()}, "1"));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(java_gets(redlock_kind));
}

TEST_F(redisson_on_several_servers, majority_is_enough_for_either_client_and_excludes_the_other) {
    block({0});
    EXPECT_EQ(tell_java("try", redlock_kind), "true");
    EXPECT_EQ(holder_on(1), javas_owner(redlock_kind, 1));
    EXPECT_EQ(holder_on(2), javas_owner(redlock_kind, 2));
    EXPECT_FALSE(most.try_acquire());
    unblock({0});
    EXPECT_FALSE(most.try_acquire()) << "the free server is a minority";
    tell_java("unlock", redlock_kind);
    EXPECT_TRUE(nothing_is_left());

    block({2});
    lease held = most.acquire();
    EXPECT_FALSE(java_gets(redlock_kind));
    unblock({2});
    EXPECT_FALSE(java_gets(redlock_kind));
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(java_gets(redlock_kind));
}

TEST_F(redisson_on_several_servers, redlock_excludes_multi_locks_and_locks_of_one_server) {
    lease held = most.acquire();
    ASSERT_TRUE(eventually(patience, [&] { return servers_with_it() == several; }));
    EXPECT_FALSE(java_gets(multi_lock_kind));
    EXPECT_FALSE(all.try_acquire());
    for (auto& one : members) EXPECT_FALSE(one.try_acquire());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(nothing_is_left()) << "a majority has answered; the others are released a moment later";
    EXPECT_TRUE(java_gets(multi_lock_kind));
}

TEST_F(redisson_on_several_servers, release_of_a_redlock_admits_the_other_client) {
    EXPECT_LT(quickest(
                  [&] {
                      tell_java("lock", redlock_kind, {60'000});
                      auto waiter = waiter_for(most);
                      EXPECT_FALSE(ready(waiter, 20ms));
                      return waiter;
                  },
                  [&] { tell_java("unlock", redlock_kind); },
                  [](auto& waiter) { EXPECT_TRUE(waiter.get().valid()); }),
              at_once)
        << "our client polls every 40 ms";
    EXPECT_LT(time_until_java_acquires(most, redlock_kind), at_once) << "each server notifies Java";
}

TEST_F(redisson_on_several_servers, redlock_is_released_with_its_last_unlock) {
    tell_java("lock", redlock_kind);
    tell_java("lock", redlock_kind);
    EXPECT_TRUE(counted_on_all("2"));
    tell_java("unlock", redlock_kind);
    EXPECT_FALSE(most.try_acquire());
    EXPECT_TRUE(counted_on_all("1")) << "our attempts take no hold of theirs away";
    tell_java("unlock", redlock_kind);
    EXPECT_TRUE(nothing_is_left());

    most.lock();
    most.lock();
    EXPECT_TRUE(counted_on_all("2"));
    EXPECT_FALSE(java_gets(redlock_kind));
    most.unlock();
    EXPECT_FALSE(java_gets(redlock_kind));
    EXPECT_TRUE(counted_on_all("1"));
    most.unlock();
    EXPECT_TRUE(java_gets(redlock_kind));
}

TEST_F(redisson_on_several_servers, watchdog_of_either_client_keeps_a_redlock) {
    tell_java("lock", redlock_kind);
    auto waiter = waiter_for(most);
    EXPECT_TRUE(is_kept_beyond(brisk_lease));
    EXPECT_FALSE(ready(waiter));
    tell_java("unlock", redlock_kind);
    EXPECT_TRUE(waiter.get().release());

    client brisk{redlock_settings(1s)};
    lease held = recursive_mutex{brisk, name}.acquire();
    auto theirs = ask_java("try", redlock_kind, {20'000});
    EXPECT_TRUE(is_kept_beyond(1s));
    EXPECT_FALSE(theirs.ready());
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_EQ(theirs.get(), "true");
    tell_java("unlock", redlock_kind);
}

}  // namespace
}  // namespace holdfast::test
