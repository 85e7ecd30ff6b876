// A group that changes its mode by itself: Redis is killed and comes back, and nobody switches by hand.
#include "server/scene.hpp"

#include <holdfast/admin.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

class joint_automatic : public ::testing::Test {
  protected:
    static constexpr auto mode_lease = 1s * slower;
    static constexpr auto short_ttl = 2s * slower;

    [[nodiscard]] std::string url(const std::string& options = {}) const {
        const auto time = [](auto d) { return std::to_string(d / 1ms) + "ms"; };
        return "joint:mode_lease=" + time(mode_lease) + ",down_for=" + time(500ms * slower) +
               ",healthy_for=" + time(2s * slower) + options + "," + redis.url() +
               "?longest_lease=" + time(short_ttl) + ",sqlite:" + file;
    }
    [[nodiscard]] config joined(const std::string& options = {}) const {
        auto c = settings(url(options), short_ttl);
        c.answer_timeout = 500ms * slower;
        return c;
    }
    void make_automatic() {
        const auto now = admin::set_automatic(a, true, {.by = "li", .reason = "night"});
        ASSERT_TRUE(now.automation && now.automation->on);
        ASSERT_TRUE(eventually(patience, [&] { return !admin::mode(b).reports.empty(); }));
    }
    [[nodiscard]] bool uses(std::size_t level) {
        return eventually(2 * patience, [&] { return admin::mode(b).uses_only(level); });
    }

    redis_server redis;
    const temp_dir folder;
    const std::string file = (folder.path() / "locks").string();
    client a{joined()};
    client b{joined()};
};

TEST_F(joint_automatic, leaves_a_level_that_is_down_and_comes_back) {
    make_automatic();
    EXPECT_EQ(admin::mode(b).reports.size(), 1U) << "one report of this host";
    ASSERT_TRUE(mutex(a, "stock").try_acquire_for(patience));
    redis.stop();
    auto held = mutex(a, "stock").try_acquire_for(2 * patience);
    ASSERT_TRUE(held) << "nobody has switched";
    EXPECT_FALSE(mutex(b, "stock").try_acquire());
    auto mode = admin::mode(b);
    EXPECT_TRUE(mode.uses_only(1));
    EXPECT_EQ(mode.history.back().author.by, "automatic");
    // The second step may follow while the other client of this host has not seen the outage yet.
    ASSERT_GE(mode.history.size(), 2U);
    EXPECT_EQ(mode.history[mode.history.size() - 2].author.reason, "level 1 is down for 1 of 1 host");
    EXPECT_TRUE(eventually(patience, [&] {
        const auto reports = admin::mode(b).reports;
        return reports.size() == 1 && reports.front().down == std::vector<std::size_t>{0};
    }));
    redis.start();
    EXPECT_TRUE(uses(0));
    mode = admin::mode(b);
    EXPECT_EQ(mode.history.size(), 4U) << "each step once";
    EXPECT_TRUE(mode.automation->on) << "what it does itself does not end it";
    EXPECT_TRUE(held.release());
}

// Two authorities would undo each other's changes.
TEST_F(joint_automatic, change_by_hand_ends_automation) {
    make_automatic();
    const auto mode = admin::switch_mode(b, 1, {.by = "wu", .reason = "upgrade"});
    EXPECT_FALSE(mode.automation->on);
    EXPECT_EQ(mode.automation->author.by, "wu");
    EXPECT_TRUE(mode.reports.empty());
    make_automatic();
    EXPECT_TRUE(uses(0)) << "the preferred level works";
    const auto same = admin::switch_mode(b, 0, {.by = "wu", .reason = "to stay"});
    EXPECT_FALSE(same.automation->on) << "also where nothing else changes";
    EXPECT_EQ(same.epoch, admin::mode(a).epoch);
}

// The operator's client has just begun, and waits longer than the others until the next change may follow.
TEST_F(joint_automatic, operator_is_not_refused_because_the_group_changes_its_mode) {
    (void)admin::switch_mode(b, 1, {.by = "wu", .reason = "upgrade"});
    make_automatic();
    ASSERT_TRUE(eventually(2 * patience, [&] {
        const auto mode = admin::mode(b);
        return mode.needed.size() == 2 && mode.must_last < 500ms * slower;
    }));
    client late{joined()};
    const auto mode = admin::switch_mode(late, 1, {.by = "wu", .reason = "to stay"});
    EXPECT_TRUE(mode.uses_only(1));
    EXPECT_FALSE(mode.automation->on);
}

TEST_F(joint_automatic, another_operator_is_told) {
    const auto why = message_of([&] {
        const auto change_too = [&](const admin::group_mode&) {
            (void)admin::switch_mode(a, 0, {.by = "li", .reason = "no", .force = true});
        };
        (void)admin::switch_mode(b, 1, {.by = "wu", .reason = "upgrade", .on_step = change_too});
    });
    EXPECT_NE(why.find("another client has changed the mode"), std::string::npos) << why;
    EXPECT_TRUE(admin::mode(b).uses_only(0));
}

TEST_F(joint_automatic, configuration_centre_can_wish_for_it) {
    const auto document = folder.path() / "switch.json";
    std::ofstream{document}
        << R"({"holdfast": 1, "serial": 1, "by": "li", "groups": {"default": {"mode": "auto"}}})";
    std::filesystem::permissions(document, std::filesystem::perms::owner_read);
    auto how = joined();
    how.switch_source = "file:" + document.string();
    const client one{how};
    EXPECT_TRUE(eventually(patience, [&] {
        const auto mode = admin::mode(b);
        return mode.automation && mode.automation->on && mode.automation->author.by == "li";
    }));
}

// The way out while the arbiter is lost.
TEST_F(joint_automatic, pinned_clients_ask_no_arbiter) {
    const auto nowhere = (folder.path() / "none" / "arbiter").string();
    client pinned{joined(",pin=2,arbiter=sqlite:" + nowhere)};
    const auto held = mutex(pinned, "stock").try_acquire();
    ASSERT_TRUE(held);
    client file_only{settings("sqlite:" + file, short_ttl)};
    EXPECT_FALSE(mutex(file_only, "stock").try_acquire());
    const auto until = held.deadline();
    EXPECT_TRUE(eventually(patience, [&] { return held.deadline() > until; })) << "renewed as ever";
    EXPECT_TRUE(admin::mode(pinned).uses_only(1));
    const auto refused = [&](auto f) {
        const auto why = message_of(f);
        EXPECT_NE(why.find("pin="), std::string::npos) << why;
    };
    refused([&] { (void)admin::switch_mode(pinned, 0, {.reason = "test"}); });
    refused([&] { (void)admin::set_automatic(pinned, true, {.reason = "test"}); });
}

}  // namespace
}  // namespace holdfast::test
