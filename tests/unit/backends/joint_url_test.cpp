#include "backends/joint/url.hpp"

#include "backends/joint/pin.hpp"

#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::joint_backend {
namespace {

using namespace std::chrono_literals;

TEST(joint_url, names_levels_in_order_and_their_arbiter) {
    const auto c = parse_url(
        "joint:group=shop,mode_lease=5s,max_skew=100ms,arbiter=zk://h1,h2:2182,h3/x,"
        "redis://:secret@db1:6379,postgres://u:p@db2/locks,sqlite:/var/locks.db");
    EXPECT_EQ(c.group, "shop");
    EXPECT_EQ(c.mode_lease, 5s);
    EXPECT_EQ(c.max_skew, 100ms);
    EXPECT_EQ(c.arbiter.url, "zk://h1,h2:2182,h3/x");
    ASSERT_EQ(c.levels.size(), 3U);
    EXPECT_EQ(c.levels[0].place, "redis://db1:6379");
    EXPECT_EQ(c.levels[1].place, "postgres://db2/locks");
    EXPECT_EQ(c.levels[2].place, "sqlite:/var/locks.db");
    EXPECT_EQ(c.agreed(),
              "mode_lease=5s max_skew=100ms level=redis://db1:6379 level=postgres://db2/locks "
              "level=sqlite:/var/locks.db");
}

// Clients whose locks are in different places of one store do not exclude each other.
TEST(joint_url, options_that_choose_the_place_must_be_alike) {
    const auto agreed = [](const std::string& zk) {
        return parse_url("joint:redis://a?db=1," + zk).agreed();
    };
    EXPECT_NE(agreed("zk://h?base=/a"), agreed("zk://h?base=/b"));
    EXPECT_NE(agreed("zk://h?names=kazoo"), agreed("zk://h"));
    EXPECT_EQ(agreed("zk://h?ca=/one"), agreed("zk://h?ca=/two")) << "files may be elsewhere on each machine";
}

TEST(joint_url, last_level_is_the_arbiter_if_none_is_named) {
    const auto c = parse_url("joint:redis://db1,zk://h1,h2,h3");
    EXPECT_EQ(c.arbiter.place, "zk://h1,h2,h3");
    EXPECT_EQ(c.mode_lease, 20s);
    EXPECT_EQ(c.group, "default");
}

// A Redis that forgets must not grant again at once, as the other levels have not forgotten.
TEST(joint_url, redis_levels_are_quarantined) {
    EXPECT_EQ(parse_url("joint:redis://a,zk://h").levels[0].url,
              "redis://a?restarts=quarantined&failover=grace");
    EXPECT_EQ(parse_url("joint:redis://a?failover=grace&db=1,zk://h").levels[0].url,
              "redis://a?failover=grace&db=1&restarts=quarantined");
    const auto why =
        test::message_of([] { (void)parse_url("joint:redis://:secret@a?restarts=trusted,zk://h"); });
    EXPECT_NE(why.find("level 1 must have restarts=quarantined"), std::string::npos) << why;
    EXPECT_EQ(why.find("secret"), std::string::npos) << why;
}

// The zxids of a ZooKeeper are lower than the fences of all other stores.
TEST(joint_url, fences_of_zookeeper_levels_follow_the_time) {
    EXPECT_EQ(parse_url("joint:redis://a,zk://h/?base=/x").levels[1].url, "zk://h/?base=/x&fences=time");
    const auto why = test::message_of([] { (void)parse_url("joint:redis://a,zk://h/?fences=zxid"); });
    EXPECT_NE(why.find("level 2 must have fences=time"), std::string::npos) << why;
}

TEST(joint_url, what_cannot_be_is_refused_with_the_reason) {
    for (const auto& [url, part] : std::vector<std::pair<std::string, std::string>>{
             {"joint:", "it has 0 levels"},
             {"joint:redis://a", "it has 1 levels"},
             {"joint:nonsense,redis://a,zk://h", "one of them is neither"},
             {"joint:modelease=1s,redis://a,zk://h", "the option \"modelease\" is unknown"},
             {"joint:mode_lease=1ms,redis://a,zk://h", "is not a duration from 500ms to 10m"},
             {"joint:mode_lease=soon,redis://a,zk://h", "mode_lease=\"soon\""},
             {"joint:group=a b,redis://a,zk://h", "group=\"a b\""},
             {"joint:redis://a,group=g,zk://h", "stand before its levels"},
             {"joint:redis://a,redis://u@a?db=1", "are the same store"},
             {"joint:redis://a,local:x", "ends with this process"},
             // A part of the URL before it, it would make another arbiter, or another level.
             {"joint:arbiter=sqlite:/a,gruop=shop,redis://a,zk://h", "the option \"gruop\" is unknown"},
             {"joint:arbiter=zk://h1,h2/x,MODE_LEASE=5s,redis://a,zk://h", "\"MODE_LEASE\" is unknown"},
             {"joint:redis://a?db=1,mode_lease =5s,zk://h", "\"mode_lease \" is unknown"},
             {"joint:arbiter=sqlite:/a,,redis://a,zk://h", "two commas"},
             {"joint:redis://a,sqlite:locks.db", "level 2 needs a path that begins with \"/\""},
             {"joint:arbiter=file:locks,redis://a,zk://h", "arbiter= needs a path that begins with"},
             {"joint:arbiter=local:x,redis://a,zk://h", "arbiter=local: ends with this process"},
             {"joint:redis://a,joint:redis://b", "made of stores itself"}}) {
        const auto why = test::message_of([&, url = url] { (void)parse_url(url); });
        EXPECT_NE(why.find(part), std::string::npos) << url << ": " << why;
    }
}

// A Redis that has forgotten the fences it was raised to grants again when its longest_lease is over.
TEST(joint_url, clocks_must_not_differ_by_longest_lease_of_a_level) {
    const auto refusal = [](const std::string& skew, const std::string& levels) {
        return test::message_of([&] { (void)parse_url("joint:max_skew=" + skew + ',' + levels); });
    };
    const auto own = refusal("5s", "redis://a?db=1&longest_lease=2s,sqlite:/x");
    EXPECT_NE(own.find("max_skew, 5s, must be shorter than the longest_lease of level 1, 2s"),
              std::string::npos)
        << own;
    const auto usual = refusal("60s", "sqlite:/x,redis://a");
    EXPECT_NE(usual.find("max_skew, 1m, must be shorter than the longest_lease of level 2, 1m"),
              std::string::npos)
        << usual;
    EXPECT_FALSE(refusal("5s", "sqlite:/x,postgres://h/d?restarts=quarantined&longest_lease=5s").empty());
    EXPECT_TRUE(refusal("4999ms", "sqlite:/x,postgres://h/d?restarts=quarantined&longest_lease=5s").empty());
    EXPECT_TRUE(refusal("60s", "sqlite:/x,postgres://h/d").empty()) << "neither forgets its fences";
}

TEST(joint_url, is_shown_without_its_passwords) {
    const std::string given =
        "joint:arbiter=zk://u:p1@h1,h2/x,group=shop,mode_lease=5s,redis://:p2@db1:6379?connections=2,"
        "postgres://li:p3@db2/locks,unix:///run/redis.sock?password=p4&db=1";
    auto c = parse_url(given);
    EXPECT_EQ(c.shown(),
              "joint:arbiter=zk://u:***@h1,h2/x,group=shop,mode_lease=5s,redis://:***@db1:6379?connections=2,"
              "postgres://li:***@db2/locks,unix:///run/redis.sock?password=***&db=1");
    c.pin = 1;
    EXPECT_EQ(c.shown().find("joint:pin=2,arbiter="), 0U);
}

TEST(joint_url, can_be_pinned_by_people) {
    config settings;
    settings.url = "joint:pin=1,mode_lease=20s,max_skew=1s,redis://:secret@db1:6379,sqlite:/var/locks.db";
    const auto plan = plan_pin(settings, 1);
    EXPECT_EQ(plan.level, "sqlite:/var/locks.db");
    EXPECT_EQ(plan.group, "default");
    EXPECT_EQ(plan.wait, 21'402ms) << "the mode lease by two clocks that drift, and the skew";
    EXPECT_EQ(plan.url, "joint:pin=2,redis://:***@db1:6379,sqlite:/var/locks.db");
    EXPECT_EQ(test::code_of([&] { (void)plan_pin(settings, 2); }), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::joint_backend
