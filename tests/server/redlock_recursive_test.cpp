// A recursive mutex on five independent servers: on each of them Redisson's RLock.
#include "server/redlock_scene.hpp"

namespace holdfast::test {
namespace {

class a_recursive_redlock : public five_servers {
  protected:
    // Over a faulty network to the first member.
    [[nodiscard]] std::string net_url(const std::string& options) const {
        auto all = "redlock:" + options + net.url() + "?command_timeout=1m";
        for (std::size_t i = 1; i < n; ++i) all += "," + servers[i].url();
        return all;
    }
    [[nodiscard]] std::string holder_on(std::size_t i, const std::string& name) {
        return recursive::holder(servers[i], name);
    }
    // So many members know that `owner` holds it so often.
    [[nodiscard]] bool counted(std::size_t members, const std::string& name, const std::string& owner,
                               const std::string& holds) {
        return eventually(patience, [&] {
            return static_cast<std::size_t>(std::count_if(servers.begin(), servers.end(), [&](auto& s) {
                       return s.command({"HGET", name, owner}).text == holds;
                   })) == members;
        });
    }
    // As a Java client would hold it on these.
    void block(std::initializer_list<std::size_t> which, const std::string& name) {
        for (const auto i : which) {
            servers[i].command(recursive::foreign_hold(name));
            servers[i].command({"PEXPIRE", name, "60000"});
        }
    }

    fault_proxy net{servers[0]};
};

TEST_F(a_recursive_redlock, has_one_owner_on_all_and_is_counted_by_its_client) {
    client c{with()};
    recursive_mutex m{c, "job"};
    m.lock();
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == n; }));
    const auto owner = holder_on(0, "job");
    EXPECT_EQ(owner.substr(36, 1), ":") << "the owners are those of Redisson: " << owner;
    EXPECT_TRUE(counted(n, "job", owner, "1"));
    m.lock();
    EXPECT_TRUE(m.try_lock());
    EXPECT_TRUE(counted(n, "job", owner, "3"));
    m.unlock();
    m.unlock();
    EXPECT_TRUE(counted(n, "job", owner, "1"));
    EXPECT_TRUE(m.valid());
    for (auto& s : servers) EXPECT_GT(pttl(s, "job"), 20s);
    m.unlock();
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
    for (auto& s : servers) EXPECT_EQ(s.keys(), std::vector<std::string>{"holdfast:redlock"});

    lease outer = m.acquire();
    lease inner = m.acquire(outer);
    EXPECT_TRUE(outer.release());
    EXPECT_TRUE(inner.valid());
    EXPECT_TRUE(inner.release());
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
}

TEST_F(a_recursive_redlock, keeps_others_out_and_is_kept_out_by_a_majority_of_another) {
    client c{with()};
    client d{with()};
    recursive_mutex mine{c, "job"};
    recursive_mutex theirs{d, "job"};
    mine.lock();
    mine.lock();
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == n; }));
    const auto owner = holder_on(0, "job");
    // What they try is undone, and takes away nothing of ours.
    EXPECT_FALSE(theirs.try_acquire());
    EXPECT_FALSE(theirs.try_acquire_for(100ms));
    EXPECT_TRUE(counted(n, "job", owner, "2"));
    mine.unlock();
    EXPECT_FALSE(theirs.try_acquire());
    EXPECT_TRUE(counted(n, "job", owner, "1"));
    mine.unlock();
    EXPECT_TRUE(theirs.try_acquire_for(patience));
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));

    block({0, 1}, "job");
    EXPECT_TRUE(mine.try_acquire()) << "a minority keeps nobody out";
    block({2}, "job");
    EXPECT_FALSE(mine.try_acquire());
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 3; })) << "the other two are undone";
}

// What was left of an attempt that was given up is undone while the same thread holds the lock by another
// one, several times over.
TEST_F(a_recursive_redlock, an_undone_attempt_takes_no_hold_of_a_later_one) {
    client c{settings(
        net_url("restarts=trusted,node_timeout=" + std::to_string((200ms * slower).count()) + "ms,"))};
    recursive_mutex m{c, "job"};
    // All members are connected, may vote, and know the scripts: who does not is asked twice.
    ASSERT_TRUE(eventually(patience, [&] {
        const lease warm = m.try_acquire();
        if (!warm || !eventually(500ms, [&] { return members_with("job") == n; })) return false;
        const lease twice = m.acquire(warm);
        return counted(n, "job", warm.owner().str(), "2");
    }));
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));

    // The last three: so all have been asked when it is refused. A member that is asked after that is busy
    // for a moment when the next attempt comes.
    net.hold_reply_of(recursive::look());
    block({2, 3, 4}, "job");
    EXPECT_FALSE(m.try_lock()) << "the first member has it, and its answer does not come";
    unblock({2, 3, 4}, "job");
    m.lock();
    m.lock();
    m.lock();
    const auto owner = holder_on(1, "job");
    EXPECT_TRUE(counted(n, "job", owner, "3"));
    const auto undone = net.count_of(recursive::leave());
    net.release_replies();
    // The first member's late word is heard, and what it granted then is given back once more.
    EXPECT_TRUE(eventually(patience, [&] { return net.count_of(recursive::leave()) >= undone + 2; }));
    EXPECT_TRUE(m.valid());
    for (auto& s : servers) EXPECT_EQ(s.command({"HGET", "job", owner}).text, "3");
    m.unlock();
    m.unlock();
    EXPECT_TRUE(m.valid());
    m.unlock();
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
}

TEST_F(a_recursive_redlock, is_renewed_in_all_its_holds_and_lost_with_its_majority) {
    client c{with(relaxed, 1s * slower)};
    recursive_mutex m{c, "job"};
    lease outer = m.acquire();
    lease inner = m.acquire(outer);
    const auto renewals = c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals >= renewals + 4; }));
    EXPECT_TRUE(inner.valid());
    for (const auto i : {0U, 1U}) servers[i].command({"DEL", "job"});
    const auto later = c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals >= later + 2; }));
    EXPECT_TRUE(inner.valid());
    EXPECT_EQ(members_with("job"), n - 2) << "a renewal takes nothing";
    servers[2].command({"DEL", "job"});
    EXPECT_TRUE(eventually(patience, [&] { return inner.lost().stop_requested(); }));
    EXPECT_FALSE(outer.valid());
    EXPECT_EQ(inner.release(), release_outcome::already_lost);
}

TEST_F(a_recursive_redlock, is_inspected_listed_and_evicted_on_all_members) {
    client c{with()};
    recursive_mutex m{c, "job"};
    lease held = m.acquire();
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == n; }));
    const auto seen = inspect(c, "job");
    EXPECT_EQ(seen.layout, "recursive_mutex");
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].owner, held.owner().str());
    EXPECT_EQ(list(c, "*").size(), 1U);
    EXPECT_TRUE(evict(c, "job"));
    EXPECT_EQ(members_with("job"), 0U);
    EXPECT_EQ(held.release(), release_outcome::already_lost);

    block({0, 1}, "job");
    EXPECT_EQ(inspect(c, "job").layout, "recursive_mutex without a majority");
}

// Redisson's RedLock has a client for each member, and so an owner for each.
TEST_F(a_recursive_redlock, with_an_owner_each_on_its_members_is_not_said_to_have_no_majority) {
    client c{with()};
    for (std::size_t i = 0; i < 3; ++i) {
        servers[i].command(
            {"HSET", "job", "0d2b3c47-0c5e-4a45-9f9e-00000000000" + std::to_string(i) + ":41", "1"});
        servers[i].command({"PEXPIRE", "job", "60000"});
    }
    EXPECT_EQ(inspect(c, "job").layout, "recursive_mutex, an owner each on 3 of 5 members");
    servers[2].command({"DEL", "job"});
    EXPECT_EQ(inspect(c, "job").layout, "recursive_mutex without a majority");
}

TEST_F(a_recursive_redlock, is_no_mutex_and_says_so) {
    client c{with()};
    {
        lease held = mutex{c, "job"}.acquire();
        EXPECT_EQ(code_of([&] { (void)recursive_mutex{c, "job"}.try_acquire(); }), errc::wrong_kind);
        EXPECT_TRUE(held.valid());
    }
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
    lease held = recursive_mutex{c, "job"}.acquire();
    EXPECT_EQ(code_of([&] { (void)mutex{c, "job"}.try_acquire(); }), errc::wrong_kind);
    EXPECT_TRUE(held.valid());
}

// As Java's waiters listen: each member tells them.
TEST_F(a_recursive_redlock, its_release_is_told_on_every_member) {
    client c{with()};
    auto deaf_to_time = settings(servers[3].url());
    deaf_to_time.poll_gap = 30s;
    client one{deaf_to_time};
    recursive_mutex m{c, "job"};
    recursive_mutex theirs{one, "job"};
    lease held = m.acquire();
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == n; }));
    auto waiter = waiter_for(theirs);
    ASSERT_TRUE(waits<recursive>(servers[3], "job"));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid()) << "a lock of one member is free with ours";
}

}  // namespace
}  // namespace holdfast::test
