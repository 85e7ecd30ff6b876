// Joint stores: what comes late, is left behind or cannot follow, while the mode changes.
#include "server/scene.hpp"
#include "support/zookeeper_server.hpp"

#include <holdfast/admin.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

constexpr auto confirmed_for = 1s * slower;

class joint_late : public ::testing::Test {
  protected:
    [[nodiscard]] std::string path(const char* name) const { return (folder.path() / name).string(); }
    // On two files and an arbiter, or with a Redis as the first level.
    [[nodiscard]] config joined(milliseconds ttl, const std::string& first = {},
                                const char* arbiter = "arbiter") const {
        const auto level = first.empty() ? "sqlite:" + path("first") : first;
        return settings("joint:arbiter=file:" + path(arbiter) +
                            ",mode_lease=" + std::to_string(confirmed_for / 1ms) + "ms,max_skew=0ms," +
                            level + ",sqlite:" + path("second"),
                        ttl);
    }
    static bool grants(client& c, const char* name) {
        std::error_code ec;
        return bool{mutex(c, name).try_acquire(ec)};
    }
    static void wait_until_granted(client& c) {
        ASSERT_TRUE(eventually(patience, [&] { return grants(c, "first"); }));
    }
    // Leaves the group between the levels; all of these clients know it then.
    static void use_both(client& by, const std::vector<client*>& all) {
        EXPECT_EQ(code_of([&] { (void)admin::switch_mode(by, 1, {.reason = "test", .wait = 1ms}); }),
                  errc::timed_out);
        for (auto* const one : all) ASSERT_EQ(admin::mode(*one).needed.size(), 2U);
    }

    const temp_dir folder;
};

// The undo of an attempt without an answer is repeated later: by then its owner may hold the lock again.
TEST_F(joint_late, undo_of_an_earlier_attempt_does_not_release_a_later_grant) {
    redis_server redis;
    std::filesystem::create_directory(path("arbiter"));
    auto c = joined(4s * slower, redis.url() + "?longest_lease=" + std::to_string(4 * slower) + "s");
    c.answer_timeout = 500ms * slower;
    client a{c}, b{c};
    wait_until_granted(a);
    wait_until_granted(b);
    redis.pause();
    std::filesystem::rename(path("arbiter"), path("away"));
    event_recorder events{a};
    auto waiter = in_background([&] { return mutex(a, "stock").acquire(); });
    ASSERT_TRUE(events.has(event_kind::source_down));
    // Until an attempt has failed for lack of a mode.
    ASSERT_TRUE(eventually(patience, [&] { return a.stats().attempts.refused > 0; }));
    std::filesystem::rename(path("away"), path("arbiter"));
    redis.resume();
    auto held = waiter.get();
    ASSERT_TRUE(held.valid());
    const auto until = boot_clock::now() + 6s * slower;  // longer than a lease
    while (boot_clock::now() < until && held.valid()) ASSERT_FALSE(grants(b, "stock"));
    EXPECT_TRUE(held.valid());
}

// An attempt on its way to Redis is granted when the mode has left Redis. On the way back that counts for
// nothing.
TEST_F(joint_late, grant_of_a_level_that_was_left_does_not_count_later) {
    redis_server redis;
    auto c = joined(20s * slower, redis.url() + "?longest_lease=" + std::to_string(20 * slower) + "s");
    c.answer_timeout = 5s * slower;
    client operator_{c}, a{c}, b{c};
    if (!eventually(patience * 2, [&] { return grants(a, "first"); })) FAIL();
    wait_until_granted(b);
    use_both(operator_, {&a, &b});
    redis.pause();
    auto waiter =
        in_background([&] { return mutex(a, "stock").acquire({.ttl = 18s * slower, .renew = false}); });
    (void)admin::switch_mode(operator_, 1, {.reason = "test"});
    for (auto* const one : {&a, &b}) EXPECT_TRUE(admin::mode(*one).uses_only(1));
    redis.resume();
    auto held = waiter.get();
    ASSERT_TRUE(held.valid());
    EXPECT_TRUE(eventually(patience, [&] { return redis.command({"EXISTS", "stock"}).number == 0; }));
    (void)admin::switch_mode(operator_, 0, {.reason = "test"});
    for (auto* const one : {&a, &b}) EXPECT_TRUE(admin::mode(*one).uses_only(0));
    EXPECT_FALSE(grants(b, "stock") && held.valid());
}

// What was granted to a waiter too late is not taken by it, and holds up nobody.
TEST_F(joint_late, grant_that_came_too_late_ends_no_other_lease) {
    client a{joined(30s)}, b{joined(30s)};
    event_recorder events{a};
    const auto other = mutex(a, "other").acquire();
    auto first = mutex(b, "stock").acquire();
    auto waiter = in_background([&] {
        std::error_code ec;
        return bool{mutex(a, "stock").try_acquire_for(4 * confirmed_for, {.ttl = 2ms, .renew = false}, ec)};
    });
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(b, "stock").queue.size() == 1; }));
    auto next = in_background([&] { return mutex(b, "stock").acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(b, "stock").queue.size() >= 1; }));
    (void)first.release();
    const auto again = next.get();
    (void)waiter.get();
    EXPECT_TRUE(other.valid());
    EXPECT_EQ(events.count(event_kind::lost), 0U);
}

// A later change trusts that two levels which stayed have outlasted all use of the mode before.
TEST_F(joint_late, client_that_is_cut_off_ends_before_two_levels_may_stay) {
    std::filesystem::create_directory(path("arbiter"));
    std::filesystem::create_directory_symlink(path("arbiter"), path("way"));
    client operator_{joined(60s)}, cut_off{joined(60s, {}, "way")};
    const auto held = mutex(cut_off, "stock").acquire();
    std::filesystem::remove(path("way"));
    ASSERT_TRUE(admin::use_two_levels(operator_, {.reason = "test"}).settled);
    client later{joined(60s)};
    (void)admin::switch_mode(later, 1, {.reason = "test", .wait = 0ms});
    const auto next = mutex(later, "stock").try_acquire();
    ASSERT_TRUE(next) << "the other client does not follow to the second level";
    EXPECT_FALSE(held.valid());
}

// The lock is kept until the work has stopped, but its lease is over at once.
TEST_F(joint_late, lease_that_cannot_follow_ends_no_other_while_its_lock_is_kept) {
    auto c = joined(30s);
    c.keep_evicted = true;
    client operator_{c}, a{c};
    client second{settings("sqlite:" + path("second"), 60s)};
    const auto theirs = mutex(second, "stock").acquire();
    const auto stuck = mutex(a, "stock").acquire();
    const auto other = mutex(a, "other").acquire();
    event_recorder events{a};
    use_both(operator_, {&a});
    EXPECT_TRUE(events.has(event_kind::lost));
    const auto then = other.deadline();
    EXPECT_TRUE(eventually(patience, [&] { return other.deadline() > then + confirmed_for; }));
    EXPECT_TRUE(other.valid());
    EXPECT_FALSE(stuck.valid());
    EXPECT_TRUE(grants(a, "new"));
    client first{settings("sqlite:" + path("first"), 30s)};
    EXPECT_FALSE(grants(first, "stock")) << "its lock is kept until its work has stopped";
}

// A session in ZooKeeper that nobody uses is not proved, and its bound passes.
TEST_F(joint_late, zookeeper_level_grants_after_idleness) {
    zookeeper_servers zookeeper;
    client a{joined(2s * slower, zookeeper.url())};
    wait_until_granted(a);
    const auto seen = a.settings().lease;
    const auto idle_until = boot_clock::now() + 2 * seen;
    ASSERT_TRUE(eventually(patience, [&] { return boot_clock::now() > idle_until; }));
    EXPECT_TRUE(grants(a, "stock"));
}

TEST_F(joint_late, zookeeper_level_grants_after_its_session_was_lost) {
    zookeeper_servers zookeeper;
    client a{joined(2s * slower, zookeeper.url())};
    event_recorder events{a};
    wait_until_granted(a);
    const auto held = mutex(a, "stock").acquire();
    zookeeper.pause();
    EXPECT_TRUE(events.has(event_kind::lost));
    zookeeper.resume();
    EXPECT_TRUE(mutex(a, "next").try_acquire_for(patience));
    EXPECT_FALSE(held.valid());
}

TEST_F(joint_late, new_clients_show_the_level_in_use) {
    client a{joined(30s)};
    (void)admin::switch_mode(a, 1, {.reason = "test"});
    const auto held = mutex(a, "stock").acquire();
    for (int i = 0; i < 10; ++i) {
        client fresh{joined(30s)};
        EXPECT_EQ(admin::list(fresh).size(), 1U);
        EXPECT_EQ(admin::inspect(fresh, "stock").holders.size(), 1U);
    }
}

// Nobody may take the mode of a group that was never changed for the present one.
TEST_F(joint_late, client_does_not_believe_an_arbiter_that_has_forgotten) {
    client a{joined(30s)};
    event_recorder events{a};
    (void)admin::switch_mode(a, 1, {.reason = "test"});
    const auto held = mutex(a, "stock").acquire();
    std::filesystem::remove_all(path("arbiter"));
    const auto down = events.next(event_kind::source_down);
    ASSERT_TRUE(down);
    EXPECT_TRUE(events.has(event_kind::lost));
    EXPECT_FALSE(grants(a, "other"));
}

}  // namespace
}  // namespace holdfast::test
