// A joint store of a Redis and a SQLite database, which is the arbiter as well.
#pragma once

#include "server/scene.hpp"

#include <holdfast/admin.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

namespace holdfast::test {

class joint_scene : public ::testing::Test {
  protected:
    static constexpr auto mode_lease = 1s * slower;
    // Longer than a change, so that a holder whose Redis is lost has time left when the waiter gets in.
    static constexpr auto short_ttl = 4s * slower;
    static constexpr auto max_skew = 1s;  // the default
    static constexpr auto answers_within = 500ms * slower;
    // For how long a change waits at each step for the clock of a level (docs/stores/joint.md).
    static constexpr auto clock_looked_at = 500ms;

    void SetUp() override {
        // A Redis that was just started may have lost locks.
        for (auto* const one : {&admin, &a, &b})
            ASSERT_TRUE(eventually(patience, [&] { return grants(*one, "first"); }));
    }
    // Not while a Redis is in quarantine, which each client sees for itself.
    static bool grants(client& c, const char* name) {
        std::error_code ec;
        return bool{mutex(c, name).try_acquire(ec)};
    }
    [[nodiscard]] std::string url(const std::string& options = {}) const {
        return "joint:mode_lease=" + std::to_string(mode_lease / 1ms) + "ms" + options + "," + redis.url() +
               "?longest_lease=" + std::to_string(short_ttl / 1ms) + "ms,sqlite:" + file;
    }
    [[nodiscard]] config joined() const {
        auto c = settings(url(), short_ttl);
        c.answer_timeout = answers_within;
        return c;
    }
    admin::group_mode change_to(std::size_t level) {
        // Also to a Redis in quarantine.
        return admin::switch_mode(admin, level, {.by = "test", .reason = "test", .force = true});
    }
    // Leaves the group between the levels, on the way to the second of these.
    void use_both(const std::vector<std::size_t>& levels = {0, 1}) {
        EXPECT_EQ(
            code_of([&] { (void)admin::switch_mode(admin, levels.back(), {.reason = "test", .wait = 1ms}); }),
            errc::timed_out);
        // A client that has not asked for a while may still use the mode before.
        for (auto* const one : {&admin, &a, &b}) ASSERT_EQ(admin::mode(*one).needed, levels);
    }
    [[nodiscard]] bool in_redis(const std::string& name) {
        return !redis.command({"EXISTS", name}).is_error() && redis.command({"EXISTS", name}).number == 1;
    }

    redis_server redis;
    const temp_dir folder;
    const std::string file = (folder.path() / "locks").string();
    client admin{joined()};
    client a{joined()};
    client b{joined()};
};

}  // namespace holdfast::test
