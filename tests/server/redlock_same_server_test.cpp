// A redlock in which two members are one server: that server has one vote, whichever member is asked.
#include "server/redlock_scene.hpp"

#include <filesystem>

namespace holdfast::test {
namespace {

class server_listed_twice : public five_servers {
  protected:
    [[nodiscard]] static std::string of(const std::vector<std::string>& members) {
        std::string all = "redlock:" + relaxed;
        for (std::size_t i = 0; i < members.size(); ++i) all += (i > 0 ? "," : "") + members[i];
        return all;
    }
    [[nodiscard]] std::string socket() const { return "unix://" + servers[0].socket_path(); }
    // Five members that are four servers.
    [[nodiscard]] std::string four() const {
        return of({servers[0].url(), servers[1].url(), servers[2].url(), servers[3].url(), socket()});
    }
    // Waits until the client knows that two members are one server.
    static void meet(client& c) {
        const event_recorder events{c};
        ASSERT_TRUE(events.has(event_kind::quorum_double));
    }
};

TEST_F(server_listed_twice, under_one_address_is_refused_at_once) {
    const auto twice = text_of([&] { client{of({servers[0].url(), servers[1].url(), servers[0].url()})}; });
    EXPECT_NE(twice.find("members 1 and 3 are the same server"), std::string::npos) << twice;
}

TEST_F(server_listed_twice, is_reported_by_an_event) {
    client c{four()};
    const event_recorder events{c};
    ASSERT_TRUE(events.has(event_kind::quorum_double));
    const auto which = events.last(event_kind::quorum_double).detail;
    EXPECT_NE(which.find(servers[0].socket_path() + " is the same server as"), std::string::npos) << which;
    EXPECT_NE(which.find(std::to_string(servers[0].port())), std::string::npos) << which;
    EXPECT_EQ(events.count(event_kind::quorum_whole), 0U);
}

TEST_F(server_listed_twice, has_one_vote_in_an_attempt) {
    client c{four()};
    meet(c);
    mutex m{c, "job"};
    for (const auto blocked : {3U, 2U}) {
        ASSERT_TRUE(m.acquire().release()) << "three servers of five members are enough";
        block({blocked}, "job");
    }
    EXPECT_FALSE(m.try_acquire()) << "two servers with three addresses are not";
    servers[2].stop();
    servers[3].stop();
    std::string why;
    ASSERT_TRUE(eventually(patience, [&] {
        why = text_of([&] { (void)m.try_acquire(); });
        return why.find("2 of 5 members can vote") != std::string::npos;
    })) << why;
    EXPECT_NE(why.find(servers[0].socket_path() + ": is the same server as"), std::string::npos) << why;
}

TEST_F(server_listed_twice, has_one_vote_in_a_renewal_and_a_release) {
    client c{settings(four(), 1s * slower)};
    meet(c);
    mutex m{c, "job"};
    auto held = m.acquire();
    unblock({3}, "job");
    const auto renewals = c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals > renewals + 1; }));
    EXPECT_TRUE(held.valid()) << "three servers have it";
    EXPECT_EQ(held.release(), release_outcome::released);

    held = m.acquire();
    unblock({3}, "job");
    servers[2].stop();
    EXPECT_TRUE(eventually(patience, [&] { return !held.valid(); })) << "two have it";
}

TEST_F(server_listed_twice, is_reached_by_its_other_address_when_one_is_cut) {
    fault_proxy net{servers[0]};
    client c{of({net.url(), servers[1].url(), socket()})};
    meet(c);
    mutex m{c, "job"};
    auto held = m.acquire();
    net.refuse_new(true);
    net.cut_all();
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        held = m.try_acquire(ec);
        return held.valid();
    }));
    EXPECT_EQ(token_on(0, "job"), held.owner().str());
    net.refuse_new(false);
    ASSERT_TRUE(eventually(patience, [&] { return net.count().open > 0; }));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(m.acquire().release());
}

TEST_F(server_listed_twice, counts_once_in_inspect_list_and_evict) {
    client c{of({servers[0].url(), servers[1].url(), socket()})};
    meet(c);
    const auto held = mutex(c, "job").acquire();
    EXPECT_EQ(inspect(c, "job").layout, "mutex");
    EXPECT_EQ(list(c, "*").size(), 1U);
    unblock({1}, "job");
    EXPECT_EQ(inspect(c, "job").layout, "mutex without a majority");
    EXPECT_TRUE(evict(c, "job"));
    EXPECT_FALSE(exists(servers[0], "job"));
    servers[1].stop();
    EXPECT_EQ(code_of([&] { (void)inspect(c, "job"); }), errc::unavailable);
}

TEST_F(server_listed_twice, is_misuse_if_no_majority_is_left) {
    client c{of({servers[0].url(), servers[0].url() + "/1", socket()})};
    meet(c);
    EXPECT_EQ(code_of([&] { (void)mutex(c, "job").try_acquire(); }), condition::misuse);
    const auto why = text_of([&] { (void)mutex(c, "job").try_acquire(); });
    EXPECT_NE(why.find("1 of 3 members can vote, and 2 must"), std::string::npos) << why;
    EXPECT_NE(why.find("is the same server as"), std::string::npos) << why;
    EXPECT_EQ(code_of([&] { (void)inspect(c, "job"); }), condition::misuse);
    EXPECT_NE(text_of([&] { (void)inspect(c, "job"); }).find("is the same server as"), std::string::npos);
    EXPECT_FALSE(exists(servers[0], "holdfast:redlock"));
}

TEST_F(server_listed_twice, keeps_its_vote_while_one_of_its_addresses_has_none) {
    // First the user has no right to the mark, then it is disabled.
    servers[0].command({"ACL", "SETUSER", "weak", "on", ">word", "~job", "~holdfast:{job}*", "&*", "+@all"});
    const auto weak = "redis://weak:word@127.0.0.1:" + std::to_string(servers[0].port());
    for (const auto& members :
         {std::vector{weak, servers[1].url(), socket()}, std::vector{socket(), servers[1].url(), weak}}) {
        client c{settings(of(members), 1s * slower)};
        meet(c);
        mutex m{c, "job"};
        auto held = m.acquire();
        servers[0].command({"ACL", "SETUSER", "weak", "off"});
        servers[0].command({"CLIENT", "KILL", "USER", "weak"});
        const auto renewals = c.stats().renewals;
        EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals > renewals + 2; }));
        EXPECT_TRUE(held.valid());
        EXPECT_EQ(inspect(c, "job").layout, "mutex");
        EXPECT_EQ(held.release(), release_outcome::released);
        EXPECT_TRUE(m.acquire().release());
        servers[0].command({"ACL", "SETUSER", "weak", "on"});
    }
}

TEST_F(server_listed_twice, as_two_databases_keeps_a_lock_that_is_in_one_of_them) {
    const auto in_second = [&] {
        return servers[0]
            .command({"EVAL", "redis.call('SELECT', 1) return redis.call('EXISTS', KEYS[1])", "1", "job"})
            .number;
    };
    fault_proxy net{servers[0]};
    net.refuse_new(true);
    client c{settings(of({net.url(), servers[1].url(), servers[0].url() + "/1"}), 1s * slower)};
    mutex m{c, "job"};
    auto held = m.acquire();
    EXPECT_EQ(in_second(), 1);
    net.refuse_new(false);
    meet(c);
    const auto renewals = c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals > renewals + 2; }));
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(inspect(c, "job").layout, "mutex");
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(eventually(patience, [&] { return in_second() == 0 && members_with("job") == 0; }));
}

TEST_F(server_listed_twice, is_no_longer_reported_once_all_members_are_distinct) {
    client c{of({servers[0].url(), servers[1].url(), socket()})};
    meet(c);
    const event_recorder events{c};
    std::filesystem::rename(servers[2].socket_path(), servers[0].socket_path());
    servers[0].command({"CLIENT", "KILL", "TYPE", "normal"});
    ASSERT_TRUE(events.has(event_kind::quorum_whole));
    const event_recorder later{c};
    ASSERT_TRUE(later.has(event_kind::quorum_whole));
    EXPECT_EQ(later.count(event_kind::quorum_double), 0U);
    EXPECT_TRUE(mutex(c, "job").acquire().release());
}

// One address returns during a request that the other has already answered.
class returning_address : public server_listed_twice {
  protected:
    returning_address() {
        net.refuse_new(true);
        net.cut_all();
    }
    fault_proxy net{servers[0]};
};

// The other server is silent, so that all depends on whether one server counts for two.
TEST_F(returning_address, does_not_make_a_majority_of_one_server) {
    const std::string mark = "holdfast:redlock";
    client c{of({net.url(), servers[1].url(), socket()})};
    recursive_mutex m{c, "job"};
    ASSERT_TRUE(m.acquire().release());
    servers[1].pause();
    auto attempt = in_background([&] {
        std::error_code ec;
        return m.try_acquire(ec).valid();
    });
    ASSERT_TRUE(eventually(patience, [&] { return exists(servers[0], "job"); }));
    // The client sends its script again, after the commands that make the member a voter.
    servers[0].command({"SCRIPT", "FLUSH"});
    servers[0].command({"DEL", mark});
    net.hold_reply_of(runs(redis_scripts::recursive_acquire), 2);
    net.refuse_new(false);
    EXPECT_TRUE(eventually(patience, [&] { return exists(servers[0], mark); }));
    EXPECT_TRUE(eventually(patience, [&] { return net.count().replies_held == 1; }));
    net.release_replies();
    EXPECT_FALSE(attempt.get());
    servers[1].resume();
}

TEST_F(returning_address, does_not_count_twice_in_a_renewal) {
    client c{settings(of({net.url(), servers[1].url(), socket()}), 3s * slower)};
    mutex m{c, "job"};
    auto held = m.acquire();
    servers[1].pause();
    auto left = servers[0].command({"PTTL", "job"}).number;
    ASSERT_TRUE(eventually(patience, [&] {
        return servers[0].command({"PTTL", "job"}).number >
               std::exchange(left, servers[0].command({"PTTL", "job"}).number);
    }));
    net.refuse_new(false);
    EXPECT_TRUE(eventually(patience, [&] { return !held.valid(); }));
    EXPECT_EQ(c.stats().renewals, 0U);
    servers[1].resume();
}

}  // namespace
}  // namespace holdfast::test
