// The queue of a fair lock in which Redisson and holdfast wait together.
#include "interop/java_scene.hpp"

namespace holdfast::test {
namespace {

class mixed_queue : public java_scene {
  protected:
    [[nodiscard]] bool has(std::int64_t n) const { return fair_shared.waits(name, n); }
    // The Java thread acquires, notes its name, and releases.
    std::vector<peer::request> java_takes_a_turn(const std::string& thread) {
        return {java.ask(thread, "lock", "fair", name),
                java.ask(thread, "note", "list", notes, {std::stol(thread)}),
                java.ask(thread, "unlock", "fair", name)};
    }
    std::future<void> we_take_a_turn(fair_mutex& with, const std::string& thread) {
        return in_background([this, &with, thread] {
            lease got = with.acquire();
            const std::lock_guard alone{noting};
            server.command({"RPUSH", notes, thread});
            got.release();
        });
    }

    // On this server, to which no other client sends requests meanwhile.
    [[nodiscard]] std::int64_t scripts_run() {
        constexpr std::string_view calls = "cmdstat_evalsha:calls=";
        const auto text = server.command({"INFO", "commandstats"}).text;
        const auto at = text.find(calls);
        return at == std::string::npos ? 0 : std::stoll(text.substr(at + calls.size()));
    }

    const std::string notes = name + ":notes";
    std::mutex noting;
    fair_mutex lock{c, name};
};

TEST_P(mixed_queue, waiters_are_served_in_the_order_of_arrival) {
    client d{without_polls()};
    fair_mutex elsewhere{d, name};
    lease held = lock.acquire();
    std::vector<peer::request> javas;
    std::vector<std::future<void>> ours;
    for (int i = 1; i <= 9; ++i) {
        if (i % 3 == 1) {
            for (auto& request : java_takes_a_turn(std::to_string(i))) javas.push_back(std::move(request));
        } else {
            ours.push_back(we_take_a_turn(i % 3 == 2 ? lock : elsewhere, std::to_string(i)));
        }
        ASSERT_TRUE(has(i));
    }
    const stopwatch since;
    EXPECT_TRUE(held.release());
    for (auto& one : ours) one.get();
    for (auto& one : javas) one.get();
    EXPECT_LT(since.took(), 9 * 100ms + slack);
    std::string order;
    for (const auto& note : server.command({"LRANGE", notes, "0", "-1"}).items) order += note.text + ' ';
    EXPECT_EQ(order, "1 2 3 4 5 6 7 8 9 ");
    EXPECT_TRUE(has(0));
}

TEST_P(mixed_queue, no_client_overtakes_a_waiter) {
    lease held = lock.acquire();
    auto java_waits = ask_java("a", "lock", "fair");
    ASSERT_TRUE(has(1));
    client d{without_polls()};
    fair_mutex elsewhere{d, name};
    EXPECT_TRUE(held.release());
    // Java may not have asked yet, but it is next.
    EXPECT_FALSE(elsewhere.try_acquire());
    java_waits.get();
    auto ours = waiter_for(elsewhere);
    ASSERT_TRUE(has(1));
    tell_java("a", "unlock", "fair");
    EXPECT_EQ(tell_java("b", "try", "fair"), "false");
    EXPECT_TRUE(ours.get().release());
}

TEST_P(mixed_queue, waiters_that_gave_up_are_skipped) {
    lease held = lock.acquire();
    auto java_gives_up = ask_java("a", "try", "fair", {300});
    ASSERT_TRUE(has(1));
    auto we_give_up = in_background([&] { return lock.try_acquire_for(500ms); });
    ASSERT_TRUE(has(2));
    auto java_stays = ask_java("b", "lock", "fair");
    ASSERT_TRUE(has(3));
    client d{without_polls()};
    fair_mutex elsewhere{d, name};
    auto we_stay = waiter_for(elsewhere);
    ASSERT_TRUE(has(4));
    EXPECT_EQ(java_gives_up.get(), "false");
    EXPECT_FALSE(we_give_up.get());
    ASSERT_TRUE(has(2));
    EXPECT_TRUE(held.release());
    java_stays.get();
    EXPECT_FALSE(ready(we_stay));
    tell_java("b", "unlock", "fair");
    EXPECT_TRUE(we_stay.get().valid());
}

// Redisson alone would wait five minutes for the dead waiter.
TEST_P(mixed_queue, killed_redisson_waiter_delays_holdfast_for_the_fair_liveness) {
    config brisk = settings(server.url());
    brisk.redis.fair_liveness = 1s;
    brisk.poll_gap = 200ms;
    client d{brisk};
    fair_mutex ours{d, name};
    const auto doomed = start_redisson(interop_server(), GetParam());
    lease held = lock.acquire();
    (void)doomed->ask("a", "lock", "fair", name);
    ASSERT_TRUE(has(1));
    auto waiter = waiter_for(ours);
    ASSERT_TRUE(has(2));
    doomed->process().kill();
    const stopwatch since;
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), brisk.redis.fair_liveness + slack);
}

// Redisson skips a dead waiter when its limit is over: here the rest of a lease of two seconds when the queue
// began, and five seconds of its own. A holdfast waiter that was before it and has left adds nothing.
TEST_P(mixed_queue, dead_redisson_waiter_costs_redisson_no_more_than_without_holdfast) {
    const auto doomed = start_redisson(interop_server(), GetParam());
    (void)doomed->ask("a", "try", "fair", name, {1'000}).get();  // the server knows its script from now on
    (void)doomed->ask("a", "unlock", "fair", name).get();
    client d{without_polls(2s)};
    fair_mutex holder{d, name};
    lease held = holder.acquire();
    auto java_waits = ask_java("a", "try", "fair", {20'000});
    ASSERT_TRUE(has(1));
    std::stop_source stop;
    auto ours = in_background([&] {
        std::error_code ec;
        return lock.acquire({.stop = stop.get_token()}, ec).valid();
    });
    ASSERT_TRUE(has(2));
    (void)doomed->ask("b", "try", "fair", name, {5'000});
    ASSERT_TRUE(has(3));
    auto java_is_last = ask_java("c", "lock", "fair");
    ASSERT_TRUE(has(4));
    stop.request_stop();
    EXPECT_FALSE(ours.get());
    doomed->process().kill();
    ASSERT_TRUE(has(3));
    const stopwatch since;
    EXPECT_TRUE(held.release());
    if (java_waits.get() == "true") tell_java("a", "unlock", "fair");
    ASSERT_TRUE(java_is_last.ready(patience));
    EXPECT_LT(since.took(), 7s + slack);
    tell_java("c", "unlock", "fair");
}

// Redisson skips a head only when its limit is over, and holdfast waiters renew theirs; so Java, too, waits
// for the fair liveness.
TEST_P(mixed_queue, killed_holdfast_waiter_delays_redisson_for_the_fair_liveness) {
    auto doomed = child_process::fork_call([&](const parent_link& parent) {
        config brisk = settings(interop_server().url());
        brisk.redis.fair_liveness = 1s;
        brisk.poll_gap = 200ms;
        client mine{brisk};
        fair_mutex ours{mine, name};
        (void)parent.await_line();
        ours.lock();
        return 0;
    });
    tell_java("a", "try", "fair", {1'000});  // the server knows its script from now on
    tell_java("a", "unlock", "fair");
    lease held = lock.acquire({.ttl = 60s});
    doomed.write("go\n");
    ASSERT_TRUE(has(1));
    doomed.kill();
    const auto before = scripts_run();
    auto java_waits = ask_java("a", "lock", "fair");
    // Java asks, listens, asks again, and sleeps.
    ASSERT_TRUE(eventually(patience, [&] { return scripts_run() == before + 2; }));
    config brisk = settings(server.url());
    brisk.redis.fair_liveness = 1s;
    brisk.poll_gap = 200ms;
    client polling{brisk};
    fair_mutex behind{polling, name};
    auto ours = waiter_for(behind);
    ASSERT_TRUE(has(3));
    EXPECT_TRUE(held.release());
    const stopwatch since;
    java_waits.get();
    EXPECT_LT(since.took(), brisk.redis.fair_liveness + brisk.poll_gap + slack);
    tell_java("a", "unlock", "fair");
    EXPECT_TRUE(ours.get().valid());
}

INSTANTIATE_TEST_SUITE_P(, mixed_queue, both_redissons(), version_name);

}  // namespace
}  // namespace holdfast::test
