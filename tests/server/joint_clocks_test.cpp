// A joint store whose levels disagree about the time: fences follow their clocks.
#include "server/doctor_scene.hpp"
#include "server/moved_clock.hpp"
#include "server/sql_scene.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::test {
namespace {

class joint_clocks : public ::testing::Test {
  protected:
    static constexpr milliseconds mode_lease = 1s * slower;
    static constexpr milliseconds ttl = 2s * slower;

    static std::string in_ms(milliseconds d) { return std::to_string(d.count()) + "ms"; }
    [[nodiscard]] config joined(const std::string& options = {}) const {
        auto c =
            settings("joint:mode_lease=" + in_ms(mode_lease) + options + "," + redis.url() +
                         "?longest_lease=" + in_ms(ttl) + ",sqlite:" + (folder.path() / "locks").string(),
                     ttl);
        c.answer_timeout = 500ms * slower;
        return c;
    }
    // A Redis that was just started, or whose clock was set, grants no locks.
    [[nodiscard]] static std::string refusal(client& by, std::size_t level) {
        const auto change = [&] { (void)admin::switch_mode(by, level, {.reason = "test", .force = true}); };
        EXPECT_EQ(code_of(change), errc::invalid_argument);
        return message_of(change);
    }

    moved_clock clock{"server"};
    redis_server redis{{.environment = clock.environment()}};
    const temp_dir folder;
};

TEST_F(joint_clocks, that_are_too_far_apart_prevent_a_change) {
    client a{joined()};
    event_recorder events{a};
    ASSERT_TRUE(mutex(a, "stock").try_acquire_for(patience));
    clock.step(5s);
    const auto said = refusal(a, 1);
    EXPECT_NE(said.find("the clock of " + redis.url() + " is "), std::string::npos) << said;
    EXPECT_NE(said.find(", and max_skew is 1s"), std::string::npos) << said;
    (void)refusal(a, 1);
    EXPECT_TRUE(admin::mode(a).uses_only(0)) << "it has not begun";
    EXPECT_TRUE(mutex(a, "stock").try_acquire_for(patience)) << "locks do not depend on it";
    EXPECT_TRUE(events.has(event_kind::clocks_apart));
    EXPECT_EQ(events.count(event_kind::clocks_apart), 1U) << "until they have been right";
    clock.step(-5s);
    EXPECT_TRUE(admin::switch_mode(a, 1, {.reason = "test"}).uses_only(1));
    clock.step(-5s);
    EXPECT_NE(refusal(a, 0).find("sqlite:"), std::string::npos) << "its fences would be lower there";
    EXPECT_TRUE(eventually(patience, [&] { return events.count(event_kind::clocks_apart) == 2; }));
}

TEST_F(joint_clocks, may_be_as_far_apart_as_the_group_has_agreed) {
    clock.step(ttl / 2);
    client a{joined(",max_skew=" + in_ms(ttl - 100ms) + ",group=loose")};
    admin::switch_options how{.reason = "test", .wait = 1ms};
    EXPECT_EQ(code_of([&] { (void)admin::switch_mode(a, 1, how); }), errc::timed_out) << "it has begun";
}

// From two levels, only the way forward gives fences by another clock.
TEST_F(joint_clocks, that_were_set_during_a_change_leave_the_way_back) {
    client a{joined()};
    (void)admin::use_two_levels(a, {.reason = "test", .force = true});
    clock.step(5s);
    EXPECT_FALSE(refusal(a, 1).empty());
    EXPECT_TRUE(admin::switch_mode(a, 0, {.reason = "test", .force = true}).uses_only(0));
}

// It cannot say what time it is, and is the reason for the change.
TEST_F(joint_clocks, of_a_level_that_is_down_do_not_count) {
    client a{joined()};
    clock.step(5s);
    redis.pause();
    EXPECT_TRUE(admin::switch_mode(a, 1, {.reason = "test"}).uses_only(1));
    redis.resume();
}

TEST_F(joint_clocks, prevent_automatic_changes_too) {
    client a{joined(",down_for=" + in_ms(300ms * slower) + ",healthy_for=" + in_ms(300ms * slower))};
    ASSERT_TRUE(admin::switch_mode(a, 1, {.reason = "test"}).uses_only(1));
    clock.step(5s);
    event_recorder events{a};
    (void)admin::set_automatic(a, true, {.reason = "test"});
    EXPECT_TRUE(events.has(event_kind::clocks_apart)) << "the first level works, so it would go back";
    EXPECT_TRUE(admin::mode(a).uses_only(1));
    clock.step(-5s);
    EXPECT_TRUE(eventually(2 * patience, [&] { return admin::mode(a).uses_only(0); }));
}

TEST_F(joint_clocks, delay_a_wish_until_they_agree) {
    const auto document = folder.path() / "switch.json";
    const auto write = [&](int serial, const char* mode) {
        const auto whole = folder.path() / "next.json";
        std::ofstream{whole} << R"({"holdfast": 1, "serial": )" << serial
                             << R"(, "groups": {"default": {"mode": ")" << mode << R"("}}})";
        std::filesystem::permissions(whole, std::filesystem::perms::owner_read);
        std::filesystem::rename(whole, document);
    };
    write(1, "redis");
    auto how = joined();
    how.switch_source = "file:" + document.string();
    client a{how};
    event_recorder events{a};
    clock.step(5s);
    write(2, "fallback");
    EXPECT_TRUE(events.has(event_kind::clocks_apart)) << "it was refused";
    EXPECT_TRUE(admin::mode(a).uses_only(0));
    clock.step(-5s);
    EXPECT_TRUE(eventually(2 * patience, [&] { return admin::mode(a).uses_only(1); }));
}

TEST_F(joint_clocks, are_compared_by_doctor) {
    client a{joined()};
    const auto right = admin::examine(a);
    EXPECT_EQ(worst_of(right, "level-clocks"), severity::ok) << all_of(right);
    clock.step(5s);
    const auto wrong = admin::examine(a);
    EXPECT_EQ(worst_of(wrong, "level-clocks"), severity::warning) << all_of(wrong);
    EXPECT_TRUE(mentions(wrong, "level-clocks", "ahead of that of sqlite:")) << all_of(wrong);
}

class joint_clocks_on_sql : public on_sql_server {};
HOLDFAST_ON_EACH_SQL_SERVER(joint_clocks_on_sql);

TEST_P(joint_clocks_on_sql, are_compared_by_doctor) {
    moved_clock clock{"redis"};
    redis_server redis{{.environment = clock.environment()}};
    const temp_dir folder;
    client a{settings("joint:arbiter=sqlite:" + (folder.path() / "arbiter").string() + "," + redis.url() +
                      "," + server.url())};
    const auto right = admin::examine(a);
    EXPECT_EQ(worst_of(right, "level-clocks"), severity::ok) << all_of(right);
    clock.step(-5s);
    const auto wrong = admin::examine(a);
    EXPECT_EQ(worst_of(wrong, "level-clocks"), severity::warning) << all_of(wrong);
    server.pause();
    const auto unknown = admin::examine(a);
    server.resume();
    EXPECT_EQ(worst_of(unknown, "level-clocks"), severity::unknown) << all_of(unknown);
}

TEST(joint_clocks_on_zookeeper, are_compared_by_doctor) {
    zookeeper_servers servers;
    moved_clock clock{"redis"};
    redis_server redis{{.environment = clock.environment()}};
    client a{settings("joint:" + redis.url() + "," + servers.url())};
    const auto right = admin::examine(a);
    EXPECT_EQ(worst_of(right, "level-clocks"), severity::ok) << all_of(right);
    clock.step(5s);
    const auto wrong = admin::examine(a);
    EXPECT_EQ(worst_of(wrong, "level-clocks"), severity::warning) << all_of(wrong);
    EXPECT_TRUE(admin::list(a).empty());
}

}  // namespace
}  // namespace holdfast::test
