// What `examine` finds on a redlock: about each member, all together, and whether they agree on the members.
#include "server/doctor_scene.hpp"
#include "server/moved_clock.hpp"
#include "server/redlock_scene.hpp"

namespace holdfast::test {
namespace {

class doctor_of_a_redlock : public five_servers {
  protected:
    static constexpr auto mark = "holdfast:redlock";

    // Writes the agreement to all members.
    void lock_once() {
        client c{with()};
        ASSERT_TRUE(mutex(c, "job").acquire().release());
        ASSERT_TRUE(eventually(patience, [&] { return members_with(mark) == n; }));
    }
    std::string address(std::size_t i) const { return "127.0.0.1:" + std::to_string(servers[i].port()); }
    void give_guest(std::initializer_list<std::size_t> where, const std::string& rules) {
        for (const auto i : where)
            ASSERT_EQ(servers[i].command(split("ACL SETUSER guest reset on >word " + rules)).text, "OK");
    }
    examination look_as_guest(const std::string& options = relaxed) const {
        std::string all = "redlock:" + options;
        for (std::size_t i = 0; i < n; ++i) all += (i > 0 ? "," : "") + ("redis://guest:word@" + address(i));
        return examined(all, {.name = lock_name{"job"}, .kind = {}});
    }
    std::vector<std::vector<std::string>> contents() {
        std::vector<std::vector<std::string>> all;
        for (auto& s : servers) {
            all.push_back(s.keys());
            all.back().push_back(s.command({"GET", mark}).text);
        }
        return all;
    }
};
const std::string strict = "node_timeout=" + std::to_string(2'000 * slower) + "ms,";

TEST_F(doctor_of_a_redlock, examines_every_member) {
    const auto all = examined(url(), {.name = lock_name{"job"}, .kind = {}});
    EXPECT_EQ(with_role(all, "master"), 5U) << all_of(all);
    for (const auto* id : {"role", "redlock-members", "redlock-even", "clocks-apart", "rights"})
        EXPECT_EQ(worst_of(all, id), severity::ok) << id << "\n" << all_of(all);
    EXPECT_EQ(worst_of(all, "persistence"), severity::danger);
    // By default a restarted member has no vote, and may forget.
    const auto quarantined = examined(url(strict));
    EXPECT_EQ(worst_of(quarantined, "persistence"), severity::note) << all_of(quarantined);
}

TEST_F(doctor_of_a_redlock, counts_the_members_that_answer) {
    servers[4].stop();
    servers[3].pause();
    const auto three = examined(url());
    EXPECT_EQ(worst_of(three, "redlock-members"), severity::warning) << all_of(three);
    EXPECT_TRUE(mentions(three, "redlock-members", "3 of 5 members answer"));
    EXPECT_TRUE(mentions(three, "redlock-members", "0 more may fail"));
    EXPECT_EQ(found(three, "unreachable").size(), 2U);
    servers[2].stop();
    EXPECT_EQ(worst_of(examined(url()), "redlock-members"), severity::danger);
    servers[3].resume();
}

TEST_F(doctor_of_a_redlock, finds_a_replica_and_an_even_number_of_members) {
    servers[1].command({"REPLICAOF", "127.0.0.1", std::to_string(servers[0].port())});
    const auto twice = "redis://localhost:" + std::to_string(servers[2].port());
    const auto all = examined("redlock:" + relaxed + servers[0].url() + "," + servers[1].url() + "," +
                              servers[2].url() + "," + twice);
    EXPECT_EQ(worst_of(all, "redlock-even"), severity::warning) << all_of(all);
    EXPECT_TRUE(mentions(all, "role", std::to_string(servers[1].port()))) << all_of(all);
    EXPECT_EQ(worst_of(all, "role"), severity::danger);
}

// A client that locks comes to the same result.
TEST_F(doctor_of_a_redlock, one_server_under_two_addresses_has_one_vote) {
    const auto again = servers[0].url() + "/1";
    const auto url = "redlock:" + relaxed + servers[0].url() + "," + servers[1].url() + "," + again;
    const auto all = examined(url);
    const auto same = found(all, "same-server");
    ASSERT_EQ(same.size(), 1U) << all_of(all);
    EXPECT_EQ(same[0].how_bad, severity::warning);
    EXPECT_EQ(same[0].subject, address(0) + "/1");
    EXPECT_EQ(same[0].found, "it is the same process as " + address(0));
    EXPECT_EQ(worst_of(all, "redlock-members"), severity::warning);
    EXPECT_TRUE(mentions(all, "redlock-members", "3 of 3 members answer, which are 2 servers; 0 more may"))
        << all_of(all);
    // Beside other servers it is reported once, too.
    EXPECT_EQ(found(together({all, examined(servers[2].url())}), "same-server").size(), 1U);
    client two{settings(url)};
    EXPECT_TRUE(mutex(two, "job").try_acquire());

    const auto one_server = "redlock:" + relaxed + servers[0].url() + "," + servers[0].url() + "/2," + again;
    EXPECT_EQ(worst_of(examined(one_server), "redlock-members"), severity::danger);
    client one{settings(one_server)};
    EXPECT_EQ(code_of([&] { (void)mutex(one, "job").try_acquire(); }), errc::invalid_argument);
}

TEST_F(doctor_of_a_redlock, reports_a_server_that_is_given_twice_without_a_redlock) {
    const auto twice = together({examined(servers[0].url()), examined(servers[0].url() + "/1")});
    const auto same = found(twice, "same-server");
    ASSERT_EQ(same.size(), 1U) << all_of(twice);
    EXPECT_EQ(same[0].how_bad, severity::warning);
    EXPECT_EQ(same[0].subject + " " + same[0].found,
              address(0) + "/1 it is the same process as " + address(0));
}

TEST_F(doctor_of_a_redlock, compares_the_clocks_of_the_members) {
    moved_clock clock{"member"};
    redis_server ahead{{.environment = clock.environment()}};
    clock.step(61s);
    const auto all =
        examined("redlock:" + relaxed + servers[0].url() + "," + servers[1].url() + "," + ahead.url());
    EXPECT_EQ(worst_of(all, "clocks-apart"), severity::warning) << all_of(all);
    EXPECT_TRUE(mentions(all, "clocks-apart", std::to_string(ahead.port())));
}

// --- restarts ---------------------------------------------------------------------------------------

TEST_F(doctor_of_a_redlock, quarantined_members_are_a_danger_if_the_others_are_no_majority) {
    constexpr milliseconds longest = slower > 1 ? 20s : 8s;  // to start two servers takes less
    const std::string options = strict + "longest_lease=" + std::to_string(longest.count()) + "ms,";
    const auto lock = [&] {
        client c{with(options, longest)};
        return code_of([&] { (void)mutex(c, "job").try_acquire(); });
    };
    const auto locks_soon = [&] {
        return eventually(longest + patience, [&] { return lock() == std::error_code{}; });
    };
    const auto says_soon = [&](severity wanted) {
        return eventually(longest + patience,
                          [&] { return worst_of(examined(url(options)), "quarantine") == wanted; });
    };
    EXPECT_EQ(worst_of(examined(url()), "quarantine"), std::nullopt) << "they are trusted";
    ASSERT_TRUE(says_soon(severity::ok));
    // A server reports whole seconds, so a client that connects a moment later may count to one more.
    EXPECT_TRUE(locks_soon());
    for (const auto i : {0U, 1U}) {
        servers[i].stop();
        servers[i].start();
    }
    // On a busy machine a server that has been trusted may report a second less once more.
    auto two = examined(url(options));
    EXPECT_TRUE(eventually(longest / 2, [&] {
        two = examined(url(options));
        return worst_of(two, "quarantine") == severity::warning;
    })) << all_of(two);
    EXPECT_TRUE(mentions(two, "quarantine", "the others are a majority")) << all_of(two);
    servers[2].stop();
    servers[2].start();
    const auto three = examined(url(options));
    const auto some = found(three, "quarantine");
    ASSERT_EQ(some.size(), 1U) << all_of(three);
    EXPECT_EQ(some[0].how_bad, severity::danger);
    EXPECT_EQ(some[0].falls, promise::live);
    EXPECT_EQ(some[0].subject, "the redlock of 5 members");
    EXPECT_NE(some[0].found.find(address(2) + " for "), std::string::npos) << some[0].found;
    EXPECT_NE(some[0].found.find("; no lock is granted for "), std::string::npos) << some[0].found;
    EXPECT_EQ(lock(), errc::quarantined);
    ASSERT_TRUE(says_soon(severity::ok));
    EXPECT_TRUE(locks_soon());
}

// --- the marks ----------------------------------------------------------------------------------------

TEST_F(doctor_of_a_redlock, compares_the_url_with_the_members_that_clients_lock_on) {
    EXPECT_EQ(worst_of(examined(url()), "redlock-marks"), severity::ok);
    EXPECT_TRUE(mentions(examined(url()), "redlock-marks", "no client has locked here yet"));
    lock_once();
    EXPECT_TRUE(mentions(examined(url()), "redlock-marks", "5 of 5 members have the key"));
    // Two of three are a majority, and so are three of five.
    const auto before = contents();
    redis_server another;
    const auto all =
        examined("redlock:" + relaxed + servers[0].url() + "," + servers[1].url() + "," + another.url());
    const auto wrong = found(all, "redlock-marks");
    ASSERT_EQ(wrong.size(), 1U) << all_of(all);
    EXPECT_EQ(wrong[0].how_bad, severity::danger);
    EXPECT_EQ(wrong[0].falls, promise::timed);
    for (const auto i : {0U, 1U})
        EXPECT_NE(wrong[0].subject.find(address(i)), std::string::npos) << wrong[0].subject;
    const auto& text = wrong[0].found;
    const auto only_there = text.find("only in the key");
    EXPECT_NE(text.find("only in the URL there is 127.0.0.1:" + std::to_string(another.port())),
              std::string::npos)
        << text;
    for (const auto i : {2U, 3U, 4U}) EXPECT_GT(text.find(address(i)), only_there) << text;
    EXPECT_NE(wrong[0].mending.find("DEL holdfast:redlock"), std::string::npos);
    EXPECT_EQ(contents(), before) << "it only reads";
    EXPECT_TRUE(another.keys().empty());
    // A name makes it another redlock.
    const auto named = examined("redlock:name=b," + relaxed + servers[0].url() + "," + servers[1].url() +
                                "," + another.url());
    EXPECT_EQ(worst_of(named, "redlock-marks"), severity::ok) << all_of(named);
}

TEST_F(doctor_of_a_redlock, finds_members_that_disagree) {
    lock_once();
    servers[4].command({"SET", mark, "3 x:1,y:2," + address(4)});
    const auto all = examined(url());
    const auto wrong = found(all, "redlock-marks");
    ASSERT_EQ(wrong.size(), 2U) << all_of(all);
    EXPECT_EQ(wrong[0].subject, address(4));
    EXPECT_NE(wrong[0].found.find("only in the key x:1, y:2"), std::string::npos) << wrong[0].found;
    EXPECT_EQ(wrong[1].subject, "the redlock of 5 members");
    EXPECT_NE(wrong[1].found.find("do not agree with each other"), std::string::npos) << wrong[1].found;
    EXPECT_NE(wrong[1].found.find(address(4) + ": x:1,y:2," + address(4)), std::string::npos)
        << wrong[1].found;
    for (const auto& f : wrong) EXPECT_EQ(f.how_bad, severity::danger);
}

TEST_F(doctor_of_a_redlock, mark_that_it_may_not_read_is_unknown) {
    lock_once();
    give_guest({0, 1, 2, 3, 4}, "~* &* +@all");
    give_guest({2}, "~* &* +@all -get");
    const auto all = look_as_guest();
    const auto marks = found(all, "redlock-marks");
    ASSERT_EQ(marks.size(), 1U) << all_of(all);
    EXPECT_EQ(marks[0].how_bad, severity::unknown);
    EXPECT_EQ(marks[0].subject, address(2));
}

// --- the rights of its user -------------------------------------------------------------------------

struct lack_on_members {
    const char* rules;
    const char* id;
    const char* rule;  // that is printed
    severity on_all;
    const char* says;
    const std::string& options = relaxed;
};

class one_missing_right_on_a_redlock : public doctor_of_a_redlock,
                                       public ::testing::WithParamInterface<lack_on_members> {};

TEST_P(one_missing_right_on_a_redlock, is_named_and_the_printed_command_grants_it) {
    const auto& p = GetParam();
    give_guest({0, 1, 2, 3, 4}, p.rules);
    const auto all = look_as_guest(p.options);
    const auto some = missing(all);
    ASSERT_EQ(some.size(), n) << all_of(all);
    for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(some[i].id, p.id);
        EXPECT_EQ(some[i].how_bad, p.on_all) << some[i].found;
        EXPECT_EQ(some[i].mending, std::string{"ACL SETUSER guest "} + p.rule);
        EXPECT_NE(some[i].found.find(p.says), std::string::npos) << some[i].found;
        EXPECT_EQ(some[i].subject, address(i));
        ASSERT_EQ(servers[i].command(split(some[i].mending)).text, "OK");
    }
    EXPECT_TRUE(missing(look_as_guest(p.options)).empty()) << all_of(look_as_guest(p.options));
    // One vote less is tolerated, and reported.
    give_guest({1}, p.rules);
    const auto one = missing(look_as_guest(p.options));
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].how_bad, severity::warning) << one[0].found;
    if (p.on_all == severity::danger) {
        EXPECT_NE(one[0].found.find("4 other members are enough without it"), std::string::npos)
            << one[0].found;
    }
}

// Nothing is reported about a queue or its channel, which a redlock does not have.
const lack_on_members lacks_of_members[] = {
    {"~job +@all", "missing-key", "~holdfast:redlock", severity::danger,
     "the redlock needs it, else this member has no vote"},
    {"~job ~holdfast:promoted +@all", "missing-key", "~holdfast:redlock", severity::danger,
     "the redlock needs it, else this member has no vote", strict},
    {"~job ~holdfast:redlock +@all", "missing-key", "~holdfast:promoted", severity::warning,
     "the redlock needs it, else after a failover each client waits for 1m", strict},
    {"~* &* +@all -info", "missing-command", "+info", severity::danger, "so it has no vote"},
    {"~* &* +@all -info", "missing-command", "+info", severity::danger, "so it has no vote", strict},
    {"~* &* +@all -set", "missing-command", "+set", severity::danger,
     "the redlock needs it, else this member has no vote"},
};
INSTANTIATE_TEST_SUITE_P(, one_missing_right_on_a_redlock, ::testing::ValuesIn(lacks_of_members));

TEST_F(doctor_of_a_redlock, named_redlock_needs_the_right_to_its_own_mark) {
    give_guest({0, 1, 2, 3, 4}, "~job ~holdfast:q1:* ~holdfast:redlock &* +@all");
    const auto some = missing(look_as_guest("name=b," + relaxed));
    ASSERT_EQ(some.size(), n);
    EXPECT_EQ(some[0].mending, "ACL SETUSER guest ~holdfast:redlock:b");
}

}  // namespace
}  // namespace holdfast::test
