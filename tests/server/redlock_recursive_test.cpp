// A recursive mutex on five independent servers: Redisson's RLock on each of them.
#include "server/redlock_scene.hpp"

namespace holdfast::test {
namespace {

class recursive_redlock : public five_servers {
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
    // Whether `members` members record `holds` holds of `owner`.
    [[nodiscard]] bool counted(std::size_t members, const std::string& name, const std::string& owner,
                               const std::string& holds) {
        return eventually(patience, [&] {
            return static_cast<std::size_t>(std::count_if(servers.begin(), servers.end(), [&](auto& s) {
                       return s.command({"HGET", name, owner}).text == holds;
                   })) == members;
        });
    }
    // Holds the lock on these members as a Java client would.
    void block(std::initializer_list<std::size_t> which, const std::string& name) {
        for (const auto i : which) {
            servers[i].command(recursive::foreign_hold(name));
            servers[i].command({"PEXPIRE", name, "60000"});
        }
    }

    fault_proxy net{servers[0]};
};

TEST_F(recursive_redlock, has_one_owner_and_one_hold_count_on_all_members) {
    client c{with()};
    recursive_mutex m{c, "job"};
    m.lock();
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == n; }));
    const auto owner = holder_on(0, "job");
    EXPECT_EQ(owner.substr(36, 1), ":") << "owners look like Redisson's: " << owner;
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

TEST_F(recursive_redlock, excludes_other_clients_and_yields_to_the_majority_of_another) {
    client c{with()};
    client d{with()};
    recursive_mutex mine{c, "job"};
    recursive_mutex theirs{d, "job"};
    mine.lock();
    mine.lock();
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == n; }));
    const auto owner = holder_on(0, "job");
    // Their attempts are undone and remove none of our holds.
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
    EXPECT_TRUE(mine.try_acquire()) << "a minority excludes no client";
    block({2}, "job");
    EXPECT_FALSE(mine.try_acquire());
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 3; })) << "the other two are undone";
}

// The client undoes an attempt that it gave up, while the same thread holds the lock several times over.
TEST_F(recursive_redlock, keeps_its_holds_when_an_earlier_attempt_is_undone) {
    client c{settings(net_url("restarts=trusted,node_timeout=10s,"))};
    recursive_mutex m{c, "job"};
    // All members are connected, may vote, and know the scripts: a member that does not is asked twice.
    ASSERT_TRUE(eventually(patience, [&] {
        const lease warm = m.try_acquire();
        if (!warm || !eventually(500ms, [&] { return members_with("job") == n; })) return false;
        const lease twice = m.acquire(warm);
        return counted(n, "job", warm.owner().str(), "2");
    }));
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));

    // The last three, so that all have been asked when the lock is refused. A member that is asked after that
    // is busy for a moment when the next attempt comes.
    net.hold_reply_of(recursive::look());
    block({2, 3, 4}, "job");
    EXPECT_FALSE(m.try_lock()) << "the first member has it, and its reply is held back";
    unblock({2, 3, 4}, "job");
    m.lock();
    m.lock();
    m.lock();
    const auto owner = holder_on(1, "job");
    EXPECT_TRUE(counted(n, "job", owner, "3"));
    const auto undone = net.count_of(recursive::leave());
    net.release_replies();
    // The client receives the first member's late reply and undoes that grant once more.
    EXPECT_TRUE(eventually(patience, [&] { return net.count_of(recursive::leave()) >= undone + 2; }));
    EXPECT_TRUE(m.valid());
    for (auto& s : servers) EXPECT_EQ(s.command({"HGET", "job", owner}).text, "3");
    m.unlock();
    m.unlock();
    EXPECT_TRUE(m.valid());
    m.unlock();
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
}

TEST_F(recursive_redlock, is_renewed_with_all_its_holds_and_lost_with_its_majority) {
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
    EXPECT_EQ(members_with("job"), n - 2) << "a renewal acquires nothing";
    servers[2].command({"DEL", "job"});
    EXPECT_TRUE(eventually(patience, [&] { return inner.lost_token().stop_requested(); }));
    EXPECT_FALSE(outer.valid());
    EXPECT_EQ(inner.release(), release_outcome::already_lost);
}

TEST_F(recursive_redlock, is_inspected_listed_and_evicted_on_all_members) {
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
TEST_F(recursive_redlock, with_one_owner_per_member_is_not_reported_without_a_majority) {
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

TEST_F(recursive_redlock, and_mutex_refuse_each_other_as_the_wrong_kind) {
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

// Java's waiters listen on the members, so each member publishes.
TEST_F(recursive_redlock, publishes_its_release_on_every_member) {
    client c{with()};
    auto rarely_polling = settings(servers[3].url());
    rarely_polling.poll_gap = 30s;
    client one{rarely_polling};
    recursive_mutex m{c, "job"};
    recursive_mutex theirs{one, "job"};
    lease held = m.acquire();
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == n; }));
    auto waiter = waiter_for(theirs);
    ASSERT_TRUE(waits<recursive>(servers[3], "job"));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid()) << "the lock on that one member is free too";
}

}  // namespace
}  // namespace holdfast::test
