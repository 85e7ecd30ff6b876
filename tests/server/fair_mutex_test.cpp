// Whose turn it is when waiters for a fair lock die, come back, or are Redisson's (redisson-wire 4 and 18).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

constexpr auto queue_key = "redisson_lock_queue:{job}";
constexpr auto limits = "redisson_lock_timeout:{job}";
// An owner of Java: its thread ids are small.
const std::string java = "0d2b3c47-0c5e-4a45-9f9e-000000000000:41";

constexpr milliseconds liveness{1000 * slower};

config brisk(const std::string& url) {
    config c = settings(url);
    c.poll_gap = 200ms;
    c.redis.fair_liveness = liveness;
    return c;
}

class fair_queue : public ::testing::Test {
  protected:
    [[nodiscard]] std::int64_t length() { return server.command({"LLEN", queue_key}).number; }
    // Milliseconds from now.
    [[nodiscard]] std::int64_t limit_of(const std::string& owner) {
        const auto score = server.command({"ZSCORE", limits, owner}).text;
        const auto now = server.command({"TIME"}).items;
        return static_cast<std::int64_t>(std::stod(score)) -
               (std::stoll(now[0].text) * 1000 + std::stoll(now[1].text) / 1000);
    }
    void enqueue(const std::string& owner, milliseconds limit) {
        const auto now = server.command({"TIME"}).items;
        server.command({"RPUSH", queue_key, owner});
        server.command(
            {"ZADD", limits, std::to_string(std::stoll(now[0].text) * 1000 + limit.count()), owner});
    }

    // Like a waiter of Redisson's: it listens, and has 300 ms left in the queue.
    child_process enqueue_listener(const std::string& owner) {
        enqueue(owner, 300ms);
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

// Waits for the lock as soon as it is given a line to read.
child_process waits_after_a_line(const std::string& url) {
    return child_process::fork_call([url](const parent_link& parent) {
        (void)parent.await_line();
        client mine{brisk(url)};
        (void)fair_mutex{mine, "job"}.acquire();
        return 0;
    });
}

TEST(fair_queue_of_processes, killed_waiter_delays_others_for_its_liveness) {
    redis_server server;
    // Forked before there are threads.
    auto killed = waits_after_a_line(server.url());
    client c{brisk(server.url())};
    client d{brisk(server.url())};
    fair_mutex lock{c, "job"};
    fair_mutex others{d, "job"};
    const auto length_is = [&](std::int64_t n) {
        return eventually(patience, [&] { return server.command({"LLEN", queue_key}).number == n; });
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

// Its subscription lasts as long as it is stopped, and longer if its cable is cut.
TEST(fair_queue_of_processes, stopped_waiter_delays_others_for_its_liveness) {
    redis_server server;
    // Forked before there are threads.
    auto stopped = waits_after_a_line(server.url());
    client c{brisk(server.url())};
    fair_mutex lock{c, "job"};
    lease held = lock.acquire();
    stopped.write("go\n");
    ASSERT_TRUE(eventually(patience, [&] { return server.command({"LLEN", queue_key}).number == 1; }));
    auto waiter = waiter_for(lock);
    ASSERT_TRUE(eventually(patience, [&] { return server.command({"LLEN", queue_key}).number == 2; }));
    stopped.pause();
    const stopwatch since;
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), liveness + slack);
    stopped.resume();
    EXPECT_EQ(stopped.wait(patience), 0);
}

TEST_F(fair_queue, dead_java_waiter_with_five_minutes_left_costs_only_the_liveness) {
    lease held = lock.acquire();
    enqueue(java, 300s);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    const stopwatch since;
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), liveness + slack);
}

TEST_F(fair_queue, many_dead_waiters_cost_no_more_than_one) {
    lease held = lock.acquire();
    for (int i = 0; i < 130; ++i) enqueue(java + std::to_string(i), 300s);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 131; }));
    const stopwatch since;
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), liveness + slack);
}

TEST_F(fair_queue, head_without_a_limit_is_skipped) {
    server.command({"RPUSH", queue_key, java});
    const stopwatch since;
    EXPECT_TRUE(lock.acquire().valid());
    EXPECT_LT(since.took(), liveness + slack);
    EXPECT_EQ(length(), 0);
}

// A waiter that listens is alive, though its limit has passed: Redisson's own waiters lose their place then.
TEST_F(fair_queue, head_that_listens_keeps_its_turn) {
    lease held = lock.acquire();
    auto listening = enqueue_listener(java);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    held.release();
    EXPECT_TRUE(listening.wait_for_output("message", patience));
    EXPECT_FALSE(ready(waiter, liveness + 300ms));
    EXPECT_EQ(server.command({"LINDEX", queue_key, "0"}).text, java);
    listening.kill();
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(fair_queue, try_that_gave_up_does_not_delay_the_waiters_behind_it) {
    lease held = lock.acquire();
    auto brief = in_background([&] { return lock.try_acquire_for(150ms); });
    ASSERT_TRUE(eventually(patience, [&] { return length() == 1; }));
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    EXPECT_FALSE(brief.get());
    ASSERT_TRUE(eventually(patience, [&] { return length() == 1; }));
    const auto first = server.command({"LINDEX", queue_key, "0"}).text;
    EXPECT_GT(limit_of(first), 0);
    const stopwatch since;
    held.release();
    EXPECT_EQ(waiter.get().owner().str(), first);
    EXPECT_LT(since.took(), slack);
}

TEST_F(fair_queue, waiter_extends_its_limit_and_keeps_its_place) {
    lease held = lock.acquire();
    auto first = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 1; }));
    const auto owner = server.command({"LINDEX", queue_key, "0"}).text;
    // As if its limit had passed.
    server.command({"ZADD", limits, "XX", "1", owner});
    EXPECT_TRUE(eventually(patience, [&] { return limit_of(owner) > 0; }));
    EXPECT_EQ(server.command({"LINDEX", queue_key, "0"}).text, owner);
    held.release();
    EXPECT_EQ(first.get().owner().str(), owner);
}

// A client of Redisson's subtracts 300 s from every limit when it acquires the lock.
TEST_F(fair_queue, waiter_behind_java_is_not_taken_for_dead_when_java_acquires) {
    lease held = lock.acquire();
    enqueue(java, 1s);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    const auto ours = server.command({"LINDEX", queue_key, "1"}).text;
    EXPECT_TRUE(eventually(patience, [&] { return limit_of(ours) > 300'000; }));
    // What Redisson's script does when it acquires.
    server.command({"LPOP", queue_key});
    server.command({"ZREM", limits, java});
    server.command({"ZINCRBY", limits, "-300000", ours});
    EXPECT_GT(limit_of(ours), 0);
    held.release();
    EXPECT_TRUE(waiter.get().valid());
}

// It is in the queue before it listens. If its limit were cut meanwhile, other clients of Java's would remove
// it when it is the head, and it would sleep for the time that it got at first: minutes.
TEST_F(fair_queue, java_waiter_that_does_not_listen_yet_keeps_its_own_wait) {
    enqueue(java + "0", 300s);  // dead, and its turn
    enqueue(java, 600s);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return exists(server, "holdfast:d1:{job}"); }));
    child_process listening{
        {"redis-cli", "-p", std::to_string(server.port()), "SUBSCRIBE", channel_of("job") + ":" + java}};
    ASSERT_TRUE(listening.wait_for_output("subscribe", patience));
    // When the dead one is removed, it receives a message that it is its turn.
    EXPECT_TRUE(listening.wait_for_output("message", patience));
    EXPECT_EQ(server.command({"LINDEX", queue_key, "0"}).text, java);
    // What it added to the limit of the dead one.
    EXPECT_GT(limit_of(java), 250'000);
    EXPECT_FALSE(ready(waiter));
    listening.kill();
    EXPECT_TRUE(waiter.get().valid());
}

// Java's limit is extended only once: its process may be stopped, too.
TEST_F(fair_queue, head_that_only_listens_loses_its_turn_in_the_end) {
    lease held = lock.acquire();
    auto listening = enqueue_listener(java);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    held.release();
    ASSERT_TRUE(eventually(patience, [&] { return limit_of(java) > 200'000; }));
    // As if the five minutes were over.
    server.command({"ZADD", limits, "XX", "1", java});
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(fair_queue, works_without_the_right_to_the_key_that_only_we_use) {
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
    // Only its limit shows that this waiter is dead.
    enqueue(java, 300ms);
    auto behind = waiter_for(of_few);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    held.release();
    EXPECT_TRUE(behind.get().valid());
}

TEST_F(fair_queue, long_queue_behind_a_dead_head_does_not_burden_the_server) {
    constexpr int many = 60;
    const auto asked = [&] {
        const auto all = server.command({"INFO", "commandstats"}).text;
        const std::string_view what = "cmdstat_pubsub|numsub:calls=";
        const auto at = all.find(what);
        return at == std::string::npos ? 0 : std::stoi(all.substr(at + what.size()));
    };
    lease held = lock.acquire();
    enqueue(java, 300s);
    std::vector<std::future<bool>> waiters;
    for (int i = 0; i < many; ++i) waiters.push_back(in_background([&] { return others.acquire().valid(); }));
    ASSERT_TRUE(eventually(patience, [&] { return length() == many + 1; }));
    const auto before = asked();
    held.release();
    for (auto& w : waiters) EXPECT_TRUE(w.get());
    // One look at all waiters each tenth of a second, and some looks by those that skip the dead head.
    EXPECT_LT(asked() - before, (liveness + slack) / 100ms * (many + 1) + 4 * many);
}

TEST_F(fair_queue, waiter_behind_a_dead_head_does_not_poll_at_full_speed) {
    lease held = lock.acquire();
    enqueue(java, 300s);
    auto waiter = waiter_for(others);
    ASSERT_TRUE(eventually(patience, [&] { return length() == 2; }));
    const auto before = d.stats().commands_sent;
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(d.stats().commands_sent - before, static_cast<std::uint64_t>(liveness / 50ms));
}

}  // namespace
}  // namespace holdfast::test
