// The time limits in the queue of a fair lock that Redisson and holdfast share. An owner adds its own wait to
// the limit before it and must subtract it when it leaves; the rest would keep Java out behind a dead waiter.
// See fair_acquire.lua; server/fair_limits_test.cpp plays every mix of arrivals and deaths.
#include "interop/java_scene.hpp"

#include <holdfast/admin.hpp>

#include <atomic>

namespace holdfast::test {
namespace {

class mixed_queue_limits : public java_scene {
  protected:
    // Each pair of neighbours from Java and holdfast once left 300 s for good. This is the most that a queue
    // of five adds up to: the rest of a lease, 300 s for an unknown head of Java's, and 300 s for each owner,
    // which is what holdfast counts for an owner of Java's.
    static constexpr milliseconds bound = 30s + 300s + 5 * 300s;

    // Each Java thread tries with this time limit, and releases the lock.
    void java_tries(const std::string& thread, long wait, int times) {
        for (int i = 0; i < times; ++i) {
            tries_.push_back(java.ask(thread, "try", "fair", name, {wait}));
            unlocks_.push_back(java.ask(thread, "unlock", "fair", name));
        }
    }
    // A holdfast thread does the same until Java has finished.
    [[nodiscard]] std::future<int> we_try(milliseconds wait) {
        return in_background([this, wait] {
            fair_mutex lock{c, name};
            int turns = 0;
            while (!java_has_finished_) {
                if (auto got = lock.try_acquire_for(wait); got && got.release()) ++turns;
            }
            return turns;
        });
    }
    // The longest time that a limit had left, until Java's threads have finished.
    [[nodiscard]] milliseconds longest_limit_meanwhile() {
        milliseconds longest{0};
        for (auto& one : unlocks_)
            while (!one.ready(1ms)) longest = std::max(longest, longest_limit());
        java_has_finished_ = true;
        return longest;
    }
    [[nodiscard]] int turns_of_java() {
        int turns = 0;
        for (auto& one : tries_) turns += one.get() == "true" ? 1 : 0;
        return turns;
    }
    [[nodiscard]] milliseconds longest_limit() {
        const auto last = server.command({"ZRANGE", limits, "-1", "-1", "WITHSCORES"}).items;
        if (last.size() < 2) return 0ms;
        const auto now = std::stoll(server.command({"TIME"}).items.at(0).text) * 1000;
        return milliseconds{static_cast<std::int64_t>(std::stod(last[1].text)) - now};
    }

    const std::string limits = "redisson_lock_timeout:{" + name + "}";

  private:
    std::atomic<bool> java_has_finished_{false};
    std::vector<peer::request> tries_;
    std::vector<peer::request> unlocks_;
};

TEST_P(mixed_queue_limits, limits_stay_bounded_when_five_owners_alternate) {
    constexpr int times = 50;
    // Some time out while they wait, others do not.
    java_tries("a", 10'000, times);
    java_tries("b", 5, times);
    java_tries("c", 10'000, times);
    auto ours = we_try(10s);
    auto impatient = we_try(5ms);
    EXPECT_LT(longest_limit_meanwhile(), bound);
    EXPECT_GT(turns_of_java(), 0);
    EXPECT_GT(ours.get(), 0);
    (void)impatient.get();
    EXPECT_TRUE(fair_shared.waits(name, 0));
}

TEST_P(mixed_queue_limits, limits_stay_bounded_when_all_try_for_ten_seconds_repeatedly) {
    constexpr int times = 80;
    for (const auto* thread : {"a", "b", "c"}) java_tries(thread, 10'000, times);
    auto ours = we_try(10s);
    auto others = we_try(10s);
    EXPECT_LT(longest_limit_meanwhile(), bound);
    EXPECT_GT(turns_of_java(), 0);
    EXPECT_GT(ours.get() + others.get(), 0);
}

class mixed_queue_without_holdfast : public mixed_queue_limits {
  protected:
    // Holdfast and Java have taken turns, and the queue was never empty meanwhile. Now a Java thread holds
    // the lock, holdfast has left, and another Java was killed in the queue, after it had asked `verb`. One
    // more Java thread is behind it.
    void java_dies_in_the_queue(std::string_view verb, const std::vector<long>& arguments) {
        fair_mutex first{e, name};
        fair_mutex second{d, name};
        lease held = first.acquire();
        auto a = ask_java("a", "lock", "fair");
        ASSERT_TRUE(fair_shared.waits(name, 1));
        auto waiter = waiter_for(second);
        ASSERT_TRUE(fair_shared.waits(name, 2));
        auto b = ask_java("b", "lock", "fair");
        ASSERT_TRUE(fair_shared.waits(name, 3));
        for (int round = 0; round < 8; ++round) {
            held.release();
            a.get();
            auto next = waiter_for(first);
            ASSERT_TRUE(fair_shared.waits(name, 3));
            tell_java("a", "unlock", "fair");
            lease got = waiter.get();
            a = ask_java("a", "lock", "fair");
            ASSERT_TRUE(fair_shared.waits(name, 3));
            got.release();
            b.get();
            waiter = waiter_for(second);
            ASSERT_TRUE(fair_shared.waits(name, 3));
            tell_java("b", "unlock", "fair");
            held = next.get();
            b = ask_java("b", "lock", "fair");
            ASSERT_TRUE(fair_shared.waits(name, 3));
        }
        const auto doomed = start_redisson(server, GetParam());
        (void)doomed->ask("x", verb, "fair", name, arguments);
        ASSERT_TRUE(fair_shared.waits(name, 4));
        last_ = ask_java("last", "lock", "fair");
        ASSERT_TRUE(fair_shared.waits(name, 5));
        held.release();
        a.get();
        tell_java("a", "unlock", "fair");
        waiter.get().release();
        b.get();
        doomed->process().kill();
        ASSERT_TRUE(eventually(patience, [&] { return listeners_of(head_of_the_queue()) == 0; }));
    }
    void java_unlocks() { tell_java("b", "unlock", "fair"); }

    static constexpr milliseconds lease_of_ours = 10s;
    client d{without_polls(lease_of_ours)};
    client e{without_polls(lease_of_ours)};
    std::optional<peer::request> last_;

  private:
    [[nodiscard]] std::string head_of_the_queue() {
        return server.command({"LINDEX", "redisson_lock_queue:{" + name + "}", "0"}).text;
    }
    [[nodiscard]] std::int64_t listeners_of(const std::string& owner) {
        return server.command({"PUBSUB", "NUMSUB", channel_of(name) + ":" + owner}).items.at(1).number;
    }
};

TEST_P(mixed_queue_without_holdfast, dead_waiter_is_shown_and_can_be_evicted) {
    ASSERT_NO_FATAL_FAILURE(java_dies_in_the_queue("lock", {}));
    java_unlocks();
    const auto shown = inspect(c, lock_name{name});
    EXPECT_EQ(shown.layout, "free");
    EXPECT_EQ(shown.dead_waiters, 1U);
    ASSERT_TRUE(shown.blocked_for);
    EXPECT_LT(*shown.blocked_for, 400s);  // Redisson alone waits 300 s and the rest of a lease
    const auto listed = list(c, name);
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].dead_waiters, 1U);
    EXPECT_EQ(tell_java("other", "try", "fair"), "false");
    EXPECT_FALSE(last_->ready());
    EXPECT_EQ(evict(c, lock_name{name}).dead_waiters, 1U);
    last_->get();
    tell_java("last", "unlock", "fair");
    EXPECT_EQ(inspect(c, lock_name{name}).dead_waiters, 0U);
    EXPECT_TRUE(list(c, name).empty());
}

TEST_P(mixed_queue_without_holdfast, next_waiter_enters_when_the_limit_of_the_dead_waiter_has_passed) {
    ASSERT_NO_FATAL_FAILURE(java_dies_in_the_queue("try", {3'000}));
    java_unlocks();
    // The rest of a lease and three seconds, not the hours that were once left.
    ASSERT_TRUE(last_->ready(patience));
    tell_java("last", "unlock", "fair");
}

INSTANTIATE_TEST_SUITE_P(, mixed_queue_without_holdfast, both_redissons(), version_name);
INSTANTIATE_TEST_SUITE_P(, mixed_queue_limits, both_redissons(), version_name);

}  // namespace
}  // namespace holdfast::test
