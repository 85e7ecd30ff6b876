// A store made of stores (joint:): Redis, and a SQLite database that is the arbiter as well. The server is
// killed, stopped and started again, and the mode changes while locks are held and waited for.
#include "server/joint_scene.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

class joint : public joint_scene {};

TEST_F(joint, uses_its_first_level) {
    auto held = mutex(a, "stock").acquire();
    EXPECT_TRUE(in_redis("stock"));
    EXPECT_FALSE(mutex(b, "stock").try_acquire());
    EXPECT_EQ(held.strength(), strength::host_local) << "of the weaker level";
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(mutex(b, "stock").try_acquire());
    const auto mode = admin::mode(a);
    EXPECT_TRUE(mode.uses_only(0));
    EXPECT_EQ(mode.epoch, 1U);
    EXPECT_EQ(mode.levels, (std::vector<std::string>{redis.url(), "sqlite:" + file}));
}

TEST_F(joint, holder_keeps_its_lock_through_a_whole_change_and_back) {
    event_recorder events{a};
    auto held = mutex(a, "stock").acquire();
    for (const std::size_t level : {1U, 0U, 1U}) {
        std::atomic<bool> over = false;
        auto rival = in_background([&] {
            int got = 0;
            while (!over) got += mutex(b, "stock").try_acquire() ? 1 : 0;
            return got;
        });
        EXPECT_TRUE(change_to(level).uses_only(level));
        EXPECT_TRUE(held.valid());
        over = true;
        EXPECT_EQ(rival.get(), 0);
    }
    EXPECT_EQ(events.count(event_kind::lost), 0U);
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(mutex(b, "stock").try_acquire_for(patience));
    EXPECT_FALSE(in_redis("stock"));
}

TEST_F(joint, locks_are_granted_throughout_a_change) {
    std::atomic<bool> over = false;
    auto worker = in_background([&] {
        int failed = 0;
        // What was held in a level that is left may be released there a moment later.
        for (int i = 0; !over; ++i)
            failed += mutex(b, "job" + std::to_string(i % 50)).try_acquire_for(patience) ? 0 : 1;
        return failed;
    });
    change_to(1);
    change_to(0);
    over = true;
    EXPECT_EQ(worker.get(), 0);
}

TEST_F(joint, waiter_in_the_queue_of_the_old_level_is_served_by_the_new_one) {
    auto held = mutex(a, "stock").acquire();
    auto waiter = in_background([&] { return mutex(b, "stock").acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return admin::inspect(admin, "stock").queue.size() == 1; }));
    change_to(1);
    EXPECT_FALSE(ready(waiter, 50ms));
    const stopwatch since;
    EXPECT_EQ(held.release(), release_outcome::released);
    ASSERT_TRUE(ready(waiter, patience));
    EXPECT_LT(since.took(), slack);
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(joint, two_levels_stay_and_are_left_at_once_by_any_client) {
    auto held = mutex(a, "stock").acquire();
    EXPECT_TRUE(admin::use_two_levels(admin, {.reason = "test"}).settled);
    for (auto* const one : {&admin, &a, &b}) {
        const auto mode = admin::mode(*one);
        EXPECT_EQ(mode.needed, (std::vector<std::size_t>{0, 1}));
        EXPECT_TRUE(mode.settled);
    }
    EXPECT_FALSE(mutex(b, "stock").try_acquire());
    for (const std::size_t level : {1U, 0U}) {
        client later{joined()};
        EXPECT_EQ(admin::mode(later).must_last, 0ms);
        EXPECT_TRUE(admin::switch_mode(later, level, {.reason = "test", .wait = 0ms}).uses_only(level));
        EXPECT_TRUE(admin::use_two_levels(admin, {.reason = "test"}).settled);
    }
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
}

TEST_F(joint, level_that_grants_no_locks_is_refused_unless_forced) {
    redis.stop();
    EXPECT_TRUE(admin::switch_mode(admin, 1, {.reason = "test"}).uses_only(1)) << "leaving it is free";
    const auto back = [&] { (void)admin::switch_mode(admin, 0, {.reason = "test"}); };
    const auto both = [&] { (void)admin::use_two_levels(admin, {.reason = "test"}); };
    EXPECT_EQ(code_of(back), errc::unavailable);
    EXPECT_EQ(code_of(both), errc::unavailable);
    const auto why = message_of(back);
    EXPECT_NE(why.find("level 1, " + redis.url() + ", grants no locks now: "), std::string::npos) << why;
    EXPECT_TRUE(admin::mode(a).uses_only(1)) << "it has not begun";
    EXPECT_TRUE(admin::switch_mode(admin, 0, {.reason = "test", .force = true}).uses_only(0));
}

// With two levels in use each lock needs both, so it is no place to stop.
TEST_F(joint, change_under_way_waits_for_a_level_that_comes_back) {
    change_to(1);
    auto change =
        in_background([&] { return admin::switch_mode(admin, 0, {.reason = "test"}).uses_only(0); });
    ASSERT_TRUE(eventually(patience, [&] { return admin::mode(b).needed.size() == 2; }));
    redis.stop();
    ASSERT_TRUE(eventually(patience, [&] { return admin::mode(b).must_last == 0ms; }));
    redis.start();  // and it grants nothing for its longest_lease
    EXPECT_TRUE(change.get());
}

// Both levels are needed, and either excludes.
TEST_F(joint, takes_both_levels_or_none_while_it_changes) {
    use_both();
    client redis_only{settings(redis.url(), short_ttl)};
    client file_only{settings("sqlite:" + file, short_ttl)};
    {
        const auto theirs = mutex(redis_only, "stock").acquire();
        EXPECT_FALSE(mutex(a, "stock").try_acquire());
        EXPECT_TRUE(mutex(file_only, "stock").try_acquire()) << "it left the second level";
    }
    {
        const auto theirs = mutex(file_only, "stock").acquire();
        EXPECT_FALSE(mutex(a, "stock").try_acquire());
        EXPECT_TRUE(mutex(redis_only, "stock").try_acquire()) << "it left the first level";
    }
    auto held = mutex(a, "stock").try_acquire();
    ASSERT_TRUE(held);
    EXPECT_FALSE(mutex(redis_only, "stock").try_acquire());
    EXPECT_FALSE(mutex(file_only, "stock").try_acquire());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(mutex(redis_only, "stock").try_acquire());
    EXPECT_TRUE(mutex(file_only, "stock").try_acquire());
}

TEST_F(joint, is_served_by_the_second_level_after_the_first_was_killed) {
    (void)mutex(a, "stock").try_acquire();
    redis.stop();
    std::error_code ec;
    EXPECT_FALSE(mutex(a, "stock").try_acquire(ec));
    EXPECT_EQ(ec, errc::unavailable);
    change_to(1);
    auto held = mutex(a, "stock").try_acquire_for(patience);
    ASSERT_TRUE(held);
    EXPECT_FALSE(mutex(b, "stock").try_acquire());
    EXPECT_EQ(held.release(), release_outcome::released);
}

// The second level can neither be taken nor excludes anybody: the lease ends before the mode leaves Redis.
TEST_F(joint, holder_that_cannot_take_the_second_level_is_told_before_others_get_the_lock) {
    event_recorder events{a};
    auto held = mutex(a, "stock").acquire();
    const auto other = mutex(a, "other").acquire();
    client file_only{settings("sqlite:" + file, 60s)};
    const auto theirs = mutex(file_only, "stock").acquire();
    use_both();
    EXPECT_TRUE(events.has(event_kind::lost));
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(other.valid()) << "only that lease ends";
    change_to(1);
    EXPECT_TRUE(other.valid());
    EXPECT_EQ(events.count(event_kind::lost), 1U);
}

TEST_F(joint, clients_with_other_settings_are_refused_and_told_which) {
    auto c = joined();
    c.url = url(",max_skew=1500ms");
    client other{c};
    std::error_code ec;
    EXPECT_FALSE(mutex(other, "stock").try_acquire(ec));
    EXPECT_EQ(ec, errc::invalid_argument);
    const auto why = message_of([&] { (void)mutex(other, "stock").try_acquire(); });
    EXPECT_NE(why.find("max_skew=1s"), std::string::npos) << why;
    EXPECT_NE(why.find("max_skew=1s500ms"), std::string::npos) << why;
}

// Redis, with its longest_lease, is not in use: the lease would end when the group goes back to it.
TEST_F(joint, lease_longer_than_longest_lease_of_any_level_is_refused) {
    change_to(1);
    const auto too_long = [&] { (void)mutex(a, "stock").try_acquire({.ttl = short_ttl + 1ms}); };
    EXPECT_EQ(code_of(too_long), errc::invalid_argument);
    const auto why = message_of(too_long);
    EXPECT_NE(why.find("longest_lease of level 1, " + redis.url()), std::string::npos) << why;
    EXPECT_TRUE(mutex(b, "stock").try_acquire({.ttl = short_ttl})) << "nothing was taken";
    // A thread that waits for another one of its client is refused, too.
    auto held = mutex(a, "shared").acquire();
    auto waiter = in_background([&] {
        return code_of([&] { (void)mutex(a, "shared").try_acquire_for(patience, {.ttl = 2 * short_ttl}); });
    });
    EXPECT_FALSE(ready(waiter, 100ms));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(waiter.get(), errc::invalid_argument);
}

TEST_F(joint, inner_hold_does_not_make_a_lease_longer_than_longest_lease_of_any_level) {
    change_to(1);
    recursive_mutex outer{a, "stock", {.ttl = short_ttl}};
    recursive_mutex inner{a, "stock", {.ttl = 2 * short_ttl}};
    outer.lock();
    const auto before = a.stats().renewals;
    inner.lock();
    EXPECT_TRUE(eventually(short_ttl, [&] { return a.stats().renewals > before; }))
        << "for as long as each level allows";
    EXPECT_EQ(a.stats().renewals_failed, 0U);
    EXPECT_LE(admin::inspect(admin, "stock").ttl, short_ttl);
    inner.unlock();
    outer.unlock();
}

TEST_F(joint, kinds_that_cannot_change_their_store_are_refused) {
    EXPECT_EQ(code_of([&] { (void)fair_mutex(a, "stock").try_acquire(); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { (void)latch(a, "stock").count(); }), errc::invalid_argument);
}

// Each client proposes what the centre wishes; the arbiter decides once for all.
TEST_F(joint, configuration_centre_changes_the_mode) {
    const auto document = folder.path() / "switch.json";
    const auto write = [&](int serial, const char* mode) {
        const auto whole = folder.path() / "next.json";
        std::ofstream{whole} << R"({"holdfast": 1, "serial": )" << serial
                             << R"(, "by": "li", "reason": "upgrade", "groups": {"default": {"mode": ")"
                             << mode << R"("}}})";
        std::filesystem::permissions(whole, std::filesystem::perms::owner_read);
        std::filesystem::rename(whole, document);
    };
    write(1, "redis");
    auto how = joined();
    how.switch_source = "file:" + document.string();
    client one{how};
    client two{how};
    const auto held = mutex(a, "stock").acquire();
    write(2, "fallback");
    EXPECT_TRUE(eventually(patience, [&] { return admin::mode(b).uses_only(1); }));
    write(3, "redis");
    EXPECT_TRUE(eventually(patience, [&] { return admin::mode(b).uses_only(0); }));
    EXPECT_TRUE(held.valid());
    const auto mode = admin::mode(b);
    EXPECT_EQ(mode.epoch, 5U) << "each step once";
    EXPECT_EQ(mode.history.back().author.by, "li");
}

TEST_F(joint, two_proposers_change_the_mode_once) {
    client c{joined()};
    auto one =
        in_background([&] { return code_of([&] { (void)admin::switch_mode(c, 1, {.reason = "one"}); }); });
    auto two = code_of([&] { (void)admin::switch_mode(admin, 1, {.reason = "two"}); });
    const auto first = one.get();
    EXPECT_TRUE((!first || first == errc::lost) && (!two || two == errc::lost)) << first << two;
    if (first || two) change_to(1);
    const auto mode = admin::mode(a);
    EXPECT_TRUE(mode.uses_only(1));
    EXPECT_EQ(mode.epoch, 3U);
    EXPECT_EQ(mode.history.size(), 2U);
}

}  // namespace
}  // namespace holdfast::test
