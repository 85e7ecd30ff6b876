// Whose turn it is when those who wait for a fair lock die, come back, or are Redisson's (redisson-wire 4 and
// 18).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

constexpr auto line_key = "redisson_lock_queue:{job}";
constexpr auto limits = "redisson_lock_timeout:{job}";
// Of Java: its thread ids are small.
const std::string java = "0d2b3c47-0c5e-4a45-9f9e-000000000000:41";

constexpr milliseconds liveness{1000 * slower};

config brisk(const std::string& url) {
    config c = settings(url);
    c.poll_gap = 200ms;
    c.fair_liveness = liveness;
    return c;
}

class fair_line : public ::testing::Test {
  protected:
    [[nodiscard]] std::int64_t length() { return server.command({"LLEN", line_key}).number; }
    // Milliseconds from now.
    [[nodiscard]] std::int64_t limit_of(const std::string& owner) {
        const auto score = server.command({"ZSCORE", limits, owner}).text;
        const auto now = server.command({"TIME"}).items;
        return static_cast<std::int64_t>(std::stod(score)) -
               (std::stoll(now[0].text) * 1000 + std::stoll(now[1].text) / 1000);
    }
    void stands_in_line(const std::string& owner, milliseconds limit) {
        const auto now = server.command({"TIME"}).items;
        server.command({"RPUSH", line_key, owner});
        server.command(
            {"ZADD", limits, std::to_string(std::stoll(now[0].text) * 1000 + limit.count()), owner});
    }

    // As one of Redisson's that waits: it listens, and has 300 ms left in line.
    child_process listens_in_line(const std::string& owner) {
        stands_in_line(owner, 300ms);
        child_process listening{
            {"redis-cli", "-p", std::to_string(server.port()), "SUBSCRIBE", channel_of("job") + ":" + owner}};
        EXPECT_TRUE(listening.wait_for_output("subscribe", patience));
        return listening;
    }

    redis_server server;
    client c{brisk(server.url())};
    client d{brisk(server.url())};
    fair_mutex lock{c, "job"};
    fair_mutex others{d, "job"};
};

// Stands in line as soon as it is given a line to read.
child_process waits_when_told(const std::string& url) {
    return child_process::fork_call([url](const parent_link& parent) {
        (void)parent.await_line();
        client mine{brisk(url)};
        (void)fair_mutex{mine, "job"}.acquire();
        return 0;
    });
}

TEST(a_fair_line, is_held_up_by_a_waiter_that_was_killed_for_its_liveness) {
    redis_server server;
    // Forked before there are threads.
    auto killed = waits_when_told(server.url());
    client c{brisk(server.url())};
    client d{brisk(server.url())};
    fair_mutex lock{c, "job"};
    fair_mutex others{d, "job"};
    const auto length_is = [&](std::int64_t n) {
        return eventually(patience, [&] { return server.command({"LLEN", line_key}).number == n; });
    };
    lease held = lock.acquire();
    killed.write("go\n");
    ASSERT_TRUE(length_is(1));
    auto waiter = waiter_for(others);
    ASSERT_TRUE(length_is(2));
    killed.kill();
    const stopwatch since;
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), liveness + slack);
}

// It listens for as long as it is stopped, and longer if its cable is cut.
TEST(a_fair_line, is_held_up_by_a_waiter_that_was_stopped_for_its_liveness) {
    redis_server server;
    // Forked before there are threads.
    auto stopped = waits_when_told(server.url());
    client c{brisk(server.url())};
    fair_mutex lock{c, "job"};
    lease held = lock.acquire();
    stopped.write("go\n");
    ASSERT_TRUE(eventually(patience, [&] { return server.command({"LLEN", line_key}).number == 1; }));
    auto waiter = waiter_for(lock);
    ASSERT_TRUE(eventually(patience, [&] { return server.command({"LLEN", line_key}).number == 2; }));
    stopped.pause();
    const stopwatch since;
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), liveness + slack);
    stopped.resume();
    EXPECT_EQ(stopped.wait(patience), 0);
}

TEST_F(fair_line, a_dead_java_waiter_with_five_minutes_costs_no_more) {
    lease held = lock.acquire();
    stands_in_line(java, 300s);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    const stopwatch since;
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), liveness + slack);
}

TEST_F(fair_line, many_dead_ones_cost_no_more_than_one) {
    lease held = lock.acquire();
    for (int i = 0; i < 130; ++i) stands_in_line(java + std::to_string(i), 300s);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 131; }));
    const stopwatch since;
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), liveness + slack);
}

TEST_F(fair_line, a_head_without_a_limit_is_passed_over) {
    server.command({"RPUSH", line_key, java});
    const stopwatch since;
    EXPECT_TRUE(lock.acquire().valid());
    EXPECT_LT(since.took(), liveness + slack);
    EXPECT_EQ(length(), 0);
}

// One that listens is alive, though its time is up: Redisson's own waiters lose their place then.
TEST_F(fair_line, a_head_that_listens_keeps_its_turn) {
    lease held = lock.acquire();
    auto listening = listens_in_line(java);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    held.release();
    EXPECT_TRUE(listening.wait_for_output("message", patience));
    EXPECT_FALSE(ready(waiter, liveness + 300ms));
    EXPECT_EQ(server.command({"LINDEX", line_key, "0"}).text, java);
    listening.kill();
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(fair_line, a_try_that_gave_up_costs_those_behind_it_nothing) {
    lease held = lock.acquire();
    auto brief = in_background([&] { return lock.try_acquire_for(150ms); });
    ASSERT_TRUE(eventually(patience, [&] { return length() == 1; }));
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    EXPECT_FALSE(brief.get());
    ASSERT_TRUE(eventually(patience, [&] { return length() == 1; }));
    const auto first = server.command({"LINDEX", line_key, "0"}).text;
    EXPECT_GT(limit_of(first), 0);
    const stopwatch since;
    held.release();
    EXPECT_EQ(waiter.get().owner().str(), first);
    EXPECT_LT(since.took(), slack);
}

TEST_F(fair_line, who_waits_longer_than_its_limit_renews_it_and_keeps_its_place) {
    lease held = lock.acquire();
    auto first = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 1; }));
    const auto owner = server.command({"LINDEX", line_key, "0"}).text;
    // As if it had waited for long.
    server.command({"ZADD", limits, "XX", "1", owner});
    EXPECT_TRUE(eventually(patience, [&] { return limit_of(owner) > 0; }));
    EXPECT_EQ(server.command({"LINDEX", line_key, "0"}).text, owner);
    held.release();
    EXPECT_EQ(first.get().owner().str(), owner);
}

// Behind one of Redisson's, which takes 300 s off everybody when it enters.
TEST_F(fair_line, a_waiter_behind_java_is_not_taken_for_dead_when_java_enters) {
    lease held = lock.acquire();
    stands_in_line(java, 1s);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    const auto ours = server.command({"LINDEX", line_key, "1"}).text;
    EXPECT_TRUE(eventually(patience, [&] { return limit_of(ours) > 300'000; }));
    // What Redisson's script does when it enters.
    server.command({"LPOP", line_key});
    server.command({"ZREM", limits, java});
    server.command({"ZINCRBY", limits, "-300000", ours});
    EXPECT_GT(limit_of(ours), 0);
    held.release();
    EXPECT_TRUE(waiter.get().valid());
}

// It stands in line before it listens. Were its limit cut meanwhile, others of Java's would throw it out of
// the line when it is the head, and it would sleep for as long as it had been told at first: minutes.
TEST_F(fair_line, a_java_waiter_that_does_not_listen_yet_keeps_its_own_wait) {
    stands_in_line(java + "0", 300s);  // dead, and its turn
    stands_in_line(java, 600s);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return exists(server, "holdfast:d1:{job}"); }));
    child_process listening{
        {"redis-cli", "-p", std::to_string(server.port()), "SUBSCRIBE", channel_of("job") + ":" + java}};
    ASSERT_TRUE(listening.wait_for_output("subscribe", patience));
    // When the dead one is out it hears that it is its turn.
    EXPECT_TRUE(listening.wait_for_output("message", patience));
    EXPECT_EQ(server.command({"LINDEX", line_key, "0"}).text, java);
    // What it added to the limit of the dead one.
    EXPECT_GT(limit_of(java), 250'000);
    EXPECT_FALSE(ready(waiter));
    listening.kill();
    EXPECT_TRUE(waiter.get().valid());
}

// Java's limit is prolonged once: it may be stopped too.
TEST_F(fair_line, a_head_that_only_listens_loses_its_turn_in_the_end) {
    lease held = lock.acquire();
    auto listening = listens_in_line(java);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    held.release();
    ASSERT_TRUE(eventually(patience, [&] { return limit_of(java) > 200'000; }));
    // As if the five minutes were over.
    server.command({"ZADD", limits, "XX", "1", java});
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(fair_line, works_for_a_user_without_a_right_to_the_key_that_is_only_ours) {
    server.command({"ACL", "SETUSER", "few", "on", ">secret", "~job", "~redisson_lock_queue:{job}",
                    "~redisson_lock_timeout:{job}", "&*", "+@all"});
    client few{brisk("redis://few:secret@127.0.0.1:" + std::to_string(server.port()))};
    fair_mutex of_few{few, "job"};
    lease held = lock.acquire();
    auto waiter = waiter_for(of_few);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 1; }));
    held.release();
    held = waiter.get();
    EXPECT_TRUE(held.valid());
    // Its limit alone tells that this one is dead.
    stands_in_line(java, 300ms);
    auto behind = waiter_for(of_few);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    held.release();
    EXPECT_TRUE(behind.get().valid());
}

TEST_F(fair_line, a_long_line_behind_a_dead_head_is_no_burden_for_the_server) {
    constexpr int many = 60;
    const auto asked = [&] {
        const auto all = server.command({"INFO", "commandstats"}).text;
        const std::string_view what = "cmdstat_pubsub|numsub:calls=";
        const auto at = all.find(what);
        return at == std::string::npos ? 0 : std::stoi(all.substr(at + what.size()));
    };
    lease held = lock.acquire();
    stands_in_line(java, 300s);
    std::vector<std::future<bool>> waiters;
    for (int i = 0; i < many; ++i) waiters.push_back(in_background([&] { return others.acquire().valid(); }));
    ASSERT_TRUE(eventually(patience, [&] { return length() == many + 1; }));
    const auto before = asked();
    held.release();
    for (auto& w : waiters) EXPECT_TRUE(w.get());
    // One look at all of them each tenth of a second, and some for those who pass over it.
    EXPECT_LT(asked() - before, (liveness + slack) / 100ms * (many + 1) + 4 * many);
}

TEST_F(fair_line, nobody_asks_at_full_speed_behind_a_dead_head) {
    lease held = lock.acquire();
    stands_in_line(java, 300s);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    const auto before = d.stats().commands_sent;
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(d.stats().commands_sent - before, static_cast<std::uint64_t>(liveness / 50ms));
}

}  // namespace
}  // namespace holdfast::test
