#include "backends/redlock/url.hpp"

#include <holdfast/error.hpp>
#include <holdfast/redlock.hpp>

#include <gtest/gtest.h>

namespace holdfast::redlock_backend {
namespace {

using namespace std::chrono_literals;

std::string error_message(std::string_view url) {
    try {
        (void)parse_url(url);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::invalid_argument);
        return e.what();
    }
    return {};
}

TEST(redlock_url, lists_settings_before_members) {
    const auto c = parse_url(
        "redlock:node_timeout=80ms,longest_lease=2m,restarts=trusted,name=orders,redis://a:1/2,rediss://"
        "u:p@B,"
        "unix:///run/c.sock?db=1");
    EXPECT_EQ(c.node_timeout, 80ms);
    EXPECT_EQ(c.longest_lease, 2min);
    EXPECT_FALSE(c.quarantine);
    EXPECT_EQ(c.name, "orders");
    ASSERT_EQ(c.members.size(), 3U);
    EXPECT_EQ(c.members[0].address, "a:1/2");
    EXPECT_EQ(c.members[1].url, "rediss://u:p@B");
    EXPECT_EQ(c.members[1].address, "b:6379");
    EXPECT_EQ(c.members[2].address, "unix:/run/c.sock");
}

TEST(redlock_url, may_have_members_behind_sentinel) {
    const auto c = parse_url("redlock:redis+sentinel://u:p@S2,s1:7/m,rediss+sentinel://t/m/3?ca=x,redis://b");
    ASSERT_EQ(c.members.size(), 3U);
    EXPECT_EQ(c.members[0].url, "redis+sentinel://u:p@S2,s1:7/m");
    EXPECT_EQ(c.members[0].address, "sentinels:s1:7,s2:26379/m");
    EXPECT_EQ(c.members[1].address, "sentinels:t:26379/m/3");
}

TEST(redlock_url, has_defaults) {
    const auto c = parse_url("redlock:redis://a,redis://b,redis://[::1]");
    EXPECT_EQ(c.node_timeout, 50ms);
    EXPECT_EQ(c.longest_lease, 60s);
    EXPECT_TRUE(c.quarantine);
    EXPECT_EQ(c.members[2].address, "[::1]:6379");
}

TEST(redlock_url, keeps_commas_inside_a_member) {
    const auto c = parse_url("redlock:redis://:a,b=c@a,redis://b,redis://c");
    ASSERT_EQ(c.members.size(), 3U);
    EXPECT_EQ(c.members[0].url, "redis://:a,b=c@a");
    EXPECT_EQ(c.members[0].address, "a:6379");
}

TEST(redlock_url, error_names_the_mistake) {
    const std::pair<const char*, const char*> all[] = {
        {"redlock:", "has 0 members"},
        {"redlock:redis://a,redis://b", "has 2 members"},
        {"redlock:redis://a,redis://A:6379,redis://b", "members 1 and 2 are the same server, a:6379"},
        {"redlock:redis://a,redis:/b,redis://c", "\"redis:/\", where \"redis://\" is meant"},
        {"redlock:redis://a,redis://b,redis+cluster://c", "member 3 is a \"redis+cluster\""},
        {"redlock:redis://a,redis://b,local:", "ends with this process"},
        {"redlock:redis://a,redlock:redis://b,redis://c", "cannot stand on another"},
        {"redlock:a,redis://b,redis://c", "one of them is neither"},
        {"redlock:node_timeout=0ms,redis://a,redis://b,redis://c", "node_timeout=\"0ms\""},
        {"redlock:longest_lease=2d,redis://a,redis://b,redis://c", "longest_lease=\"2d\""},
        {"redlock:redis://a,redis://b?db=1&failover=grace,redis://c", "member 2 has the option \"failover\""},
        {"redlock:restarts=maybe,redis://a,redis://b,redis://c", "restarts=\"maybe\""},
        {"redlock:name=a b,redis://a,redis://b,redis://c", "name=\"a b\""},
        {"redlock:quorum=2,redis://a,redis://b,redis://c", "the option \"quorum\" is unknown"},
    };
    for (const auto& [url, words] : all)
        EXPECT_NE(error_message(url).find(words), std::string::npos) << url << ": " << error_message(url);
    std::string sixteen = "redlock:redis://h0";
    for (int i = 1; i < 16; ++i) sixteen += ",redis://h" + std::to_string(i);
    EXPECT_NE(error_message(sixteen).find("has 16 members"), std::string::npos);
}

TEST(redlock_url, error_never_shows_a_password) {
    for (const auto* url :
         {"redlock:redis://:secret@a,redis://b", "redlock:redis://:secret@a,redis://:secret@a,redis://c",
          "redlock:redis://:x,secret://y@a,redis://b,redis://c"})
        EXPECT_EQ(error_message(url).find("secret"), std::string::npos) << error_message(url);
}

TEST(redlock_url, is_built_from_a_list) {
    const auto c = parse_url(holdfast::redlock_url({"redis://a", "redis://b", "redis://c"},
                                                   {.node_timeout = 20ms,
                                                    .longest_lease = 30s,
                                                    .restarts = redlock_options::restarts::trusted,
                                                    .name = "jobs"}));
    EXPECT_EQ(c.node_timeout, 20ms);
    EXPECT_EQ(c.longest_lease, 30s);
    EXPECT_FALSE(c.quarantine);
    EXPECT_EQ(c.name, "jobs");
    EXPECT_EQ(c.members.size(), 3U);
    EXPECT_THROW((void)holdfast::redlock_url({""}), error);
}

}  // namespace
}  // namespace holdfast::redlock_backend
