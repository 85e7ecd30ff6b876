// Errors about members that cannot be used.
#include "server/redlock_scene.hpp"

#include <sstream>

namespace holdfast::test {
namespace {

std::size_t times(const std::string& what, const std::string& in) {
    std::size_t n = 0;
    for (auto at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++n;
    return n;
}

TEST(redlock_member, with_another_password_is_named_once_in_the_error) {
    redis_server::options locked;
    locked.password = "right";
    std::array<redis_server, 3> servers{redis_server{locked}, redis_server{locked}, redis_server{locked}};
    std::string url = "redlock:" + relaxed;
    for (const auto& s : servers) url += "redis://:wrong@127.0.0.1:" + std::to_string(s.port()) + ",";
    url.pop_back();
    client c{settings(url)};
    mutex m{c, "job"};
    const auto why = text_of([&] { (void)m.try_acquire(); });
    EXPECT_EQ(code_of([&] { (void)m.try_acquire(); }), errc::no_permission);
    for (const auto& s : servers) EXPECT_EQ(times(std::to_string(s.port()), why), 1U) << why;
    EXPECT_EQ(times("refused the user or the password", why), 1U) << why;
    EXPECT_EQ(times("wrong@", why), 0U) << why;
}

class unusable_members : public five_servers {
  protected:
    [[nodiscard]] static std::string refusal_of(client& c) {
        return text_of([&] { (void)mutex(c, "job").try_acquire(); });
    }
};

TEST_F(unusable_members, error_about_sentinels_says_how_to_name_them) {
    redis_server::options watch;
    watch.sentinel = true;
    watch.config = {"sentinel monitor m 127.0.0.1 " + std::to_string(servers[0].port()) + " 1"};
    redis_server one{watch};
    redis_server other{watch};
    client c{settings(url(relaxed, 1) + "," + one.url() + "," + other.url())};
    const auto why = refusal_of(c);
    EXPECT_NE(why.find("is a Sentinel, which keeps no locks; write redis+sentinel://"), std::string::npos)
        << why;
    EXPECT_EQ(code_of([&] { (void)mutex(c, "job").try_acquire(); }), errc::invalid_argument);
    EXPECT_EQ(servers[0].keys(), std::vector<std::string>{}) << "nothing is written without a majority";
}

TEST_F(unusable_members, error_names_replicas_and_they_vote_once_promoted) {
    const auto master = std::to_string(servers[4].port());
    for (const auto i : {1U, 2U}) servers[i].command({"REPLICAOF", "127.0.0.1", master});
    client c{settings(url(relaxed, 3))};
    const auto why = refusal_of(c);
    EXPECT_NE(why.find("is a replica; name its master, or write redis+sentinel://"), std::string::npos)
        << why;
    servers[1].command({"REPLICAOF", "NO", "ONE"});
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        return static_cast<bool>(mutex(c, "job").try_acquire(ec));
    }));
}

TEST_F(unusable_members, error_names_members_that_hang) {
    // The connections outlast this test: the error describes a member without one differently.
    std::string members;
    for (const auto& s : servers) members += (members.empty() ? "" : ",") + s.url() + "?command_timeout=1m";
    client c{
        settings("redlock:restarts=trusted,node_timeout=" + std::to_string(200 * slower) + "ms," + members)};
    ASSERT_TRUE(mutex(c, "job").try_acquire_for(patience).release());
    for (const auto i : {1U, 2U, 3U}) servers[i].pause();
    EXPECT_EQ(code_of([&] { (void)mutex(c, "job").try_acquire(); }), errc::unavailable);
    const auto why = refusal_of(c);
    for (const auto i : {1U, 2U, 3U}) servers[i].resume();
    EXPECT_NE(why.find("within node_timeout"), std::string::npos) << why;
    EXPECT_NE(why.find("no answer from "), std::string::npos) << why;
    for (std::size_t i = 0; i < n; ++i)
        EXPECT_EQ(times(std::to_string(servers[i].port()), why), i >= 1 && i <= 3 ? 1U : 0U) << why;
}

// --- a user who has rights on some members only -----------------------------------------------------------

class redlock_user : public five_servers {
  protected:
    void set_rules(std::initializer_list<std::size_t> where, const std::string& rules) {
        for (const auto i : where) {
            std::vector<std::string> words{"ACL", "SETUSER", "guest", "reset", "on", ">word"};
            std::istringstream in{rules};
            for (std::string rule; in >> rule;) words.push_back(rule);
            ASSERT_EQ(servers[i].command(words).text, "OK") << rules;
        }
    }
    [[nodiscard]] std::string url_of_guest(const std::string& options = relaxed) const {
        std::string all = "redlock:" + options;
        for (const auto& s : servers) all += "redis://guest:word@127.0.0.1:" + std::to_string(s.port()) + ",";
        all.pop_back();
        return all;
    }
    // The error of a client that has reached all of its members.
    [[nodiscard]] std::string refusal(bool fenced = false, const std::string& options = relaxed) {
        client c{settings(url_of_guest(options))};
        mutex m{c, "job", {.fenced = fenced}};
        try {
            (void)m.try_acquire();
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::no_permission) << e.what();
            EXPECT_EQ(e.server_text(), "") << "several servers have no one text";
            return e.what();
        }
        return "acquired";
    }
};

TEST_F(redlock_user, learns_which_rights_most_members_lack) {
    struct lack {
        const char* rules;
        const char* says;
        bool fenced = false;
    };
    for (const auto& [rules, says, fenced] : {
             lack{"~holdfast:* &* +@all", "missing is the right to a key"},
             lack{"~job &* +@all", "holdfast:redlock cannot be used: missing is the right to a key"},
             lack{"~* &* +@all -set", "missing is the right to run set"},
             lack{"~* &* +@all -info", "allow the user INFO"},
             lack{"~* &* +@all -eval -evalsha", "missing is the right to run eval", true},
         }) {
        set_rules({0, 1}, "~* &* +@all");
        set_rules({2, 3, 4}, rules);
        const auto why = refusal(fenced);
        EXPECT_NE(why.find(says), std::string::npos) << rules << "\n" << why;
        for (const auto i : {2U, 3U, 4U})
            EXPECT_NE(why.find(std::to_string(servers[i].port())), std::string::npos) << why;
        EXPECT_EQ(why.find("no answer"), std::string::npos) << "no member was waited for: " << why;
    }
}

TEST_F(redlock_user, learns_of_missing_rights_although_a_member_hangs) {
    set_rules({0, 1, 2, 3, 4}, "~* &* +@all");
    const auto quick = "restarts=trusted,node_timeout=" + std::to_string(200 * slower) + "ms,";
    client c{settings(url_of_guest(quick))};
    mutex m{c, "job"};
    ASSERT_TRUE(m.try_acquire_for(patience).release());
    set_rules({0, 1}, "~holdfast:* &* +@all");
    servers[4].pause();
    const auto why = text_of([&] { (void)m.try_acquire(); });
    EXPECT_EQ(code_of([&] { (void)m.try_acquire(); }), errc::no_permission);
    servers[4].resume();
    EXPECT_NE(why.find("missing is the right to a key"), std::string::npos) << why;
    EXPECT_NE(why.find("no answer from 127.0.0.1:" + std::to_string(servers[4].port())), std::string::npos)
        << why;
}

}  // namespace
}  // namespace holdfast::test
