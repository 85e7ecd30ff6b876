// Semaphores and latches that Redisson and our client share.
#include "interop/java_scene.hpp"

namespace holdfast::test {
namespace {

constexpr milliseconds soon = 100ms * slower;

class counters_with_redisson : public java_scene {
  protected:
    // An id is not a number; it goes into the request as text.
    std::string tell_about(std::string_view verb, const std::string& id) {
        return java.tell("a", verb, "permits", name + " " + id);
    }
    // Our client was refused, listens, and was refused once more.
    [[nodiscard]] bool ours_waits() {
        return eventually(patience, [&, before = busy_] { return c.stats().attempts.busy >= before + 2; });
    }
    void begin_waiting() { busy_ = c.stats().attempts.busy; }
    [[nodiscard]] bool java_listens(const std::string& channel, int listeners_of_ours = 0) {
        return eventually(patience, [&] {
            return server.command({"PUBSUB", "NUMSUB", channel}).items.at(1).number == 1 + listeners_of_ours;
        });
    }

    counting_semaphore semaphore{c, name};
    permit_semaphore permits{c, name};
    latch counted{c, name};

  private:
    std::uint64_t busy_ = 0;
};

// --- counting_semaphore -----------------------------------------------------------------------------

TEST_P(counters_with_redisson, permits_held_by_either_client_are_taken_for_the_other) {
    EXPECT_EQ(tell_java("a", "set", "semaphore", {3}), "true");
    EXPECT_FALSE(semaphore.try_set_permits(5));
    lease held = semaphore.acquire({.permits = 2});
    EXPECT_EQ(tell_java("a", "available", "semaphore"), "1");
    EXPECT_EQ(tell_java("a", "try", "semaphore", {2, 0}), "false");
    EXPECT_TRUE(held.release());
    EXPECT_EQ(tell_java("a", "try", "semaphore", {3, 0}), "true");
    EXPECT_FALSE(semaphore.try_acquire());
    EXPECT_FALSE(semaphore.try_take());
    semaphore.give(3);
    EXPECT_EQ(tell_java("a", "available", "semaphore"), "3");
    EXPECT_EQ(tell_java("a", "drain", "semaphore"), "3");
    EXPECT_EQ(semaphore.available_permits(), 0);
}

TEST_P(counters_with_redisson, release_by_redisson_wakes_holdfast) {
    semaphore.try_set_permits(1);
    EXPECT_LT(quickest(
                  [&] {
                      tell_java("a", "acquire", "semaphore", {1});
                      begin_waiting();
                      auto waiter = in_background([&] { return semaphore.acquire(); });
                      EXPECT_TRUE(ours_waits());
                      return waiter;
                  },
                  [&] { tell_java("a", "release", "semaphore", {1}); },
                  [](auto& waiter) { EXPECT_TRUE(waiter.get().release()); }),
              soon);
}

TEST_P(counters_with_redisson, release_by_holdfast_wakes_redisson) {
    semaphore.try_set_permits(1);
    lease held;
    EXPECT_LT(quickest(
                  [&] {
                      held = semaphore.acquire();
                      auto waiter = ask_java("w", "acquire", "semaphore", {1});
                      EXPECT_TRUE(java_listens("redisson_sc:{" + name + "}"));
                      EXPECT_FALSE(waiter.ready(20ms));
                      return waiter;
                  },
                  [&] { EXPECT_TRUE(held.release()); },
                  [&](auto& waiter) {
                      waiter.get();
                      tell_java("w", "release", "semaphore", {1});
                  }),
              soon);
}

TEST_P(counters_with_redisson, raised_total_wakes_both_clients) {
    begin_waiting();
    auto ours = in_background([&] { semaphore.take(); });
    auto theirs = ask_java("w", "acquire", "semaphore", {1});
    ASSERT_TRUE(ours_waits());
    tell_java("a", "add", "semaphore", {1});
    semaphore.add_permits(1);
    ours.get();
    theirs.get();
    EXPECT_EQ(semaphore.available_permits(), 0);
}

TEST_P(counters_with_redisson, expired_permits_of_holdfast_wake_redisson) {
    semaphore.try_set_permits(1);
    lease held = semaphore.acquire({.ttl = 400ms, .permits = 1});  // never released
    auto theirs = ask_java("w", "acquire", "semaphore", {1});
    ASSERT_TRUE(java_listens("redisson_sc:{" + name + "}"));
    // Any call of our client that looks at the permits is enough.
    EXPECT_TRUE(eventually(patience, [&] { return semaphore.available_permits() == 1 || theirs.ready(); }));
    theirs.get();
}

// --- permit_semaphore -------------------------------------------------------------------------------

TEST_P(counters_with_redisson, either_client_can_release_a_permit_of_the_other) {
    EXPECT_EQ(tell_java("a", "set", "permits", {2}), "true");
    const auto theirs = tell_java("a", "try", "permits", {0, 60'000});
    EXPECT_EQ(theirs.size(), 32U);
    lease held = permits.acquire();
    EXPECT_FALSE(permits.try_acquire());
    EXPECT_TRUE(permits.release(theirs));
    EXPECT_EQ(tell_about("try_release", theirs), "false");
    EXPECT_EQ(tell_about("try_release", held.owner().str()), "true");
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_EQ(tell_java("a", "available", "permits"), "2");
    EXPECT_EQ(permits.available_permits(), 2);
}

TEST_P(counters_with_redisson, expired_permits_are_free_for_the_other_client) {
    permits.try_set_permits(1);
    (void)tell_java("a", "try", "permits", {0, 300});
    lease held = permits.acquire({.ttl = 500ms});
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(tell_java("a", "try", "permits", {5'000, 60'000}).size(), 32U);
    EXPECT_FALSE(held.valid());
}

TEST_P(counters_with_redisson, renewed_permit_of_holdfast_stays_taken_for_redisson) {
    permits.try_set_permits(1);
    lease held = permits.acquire({.ttl = 600ms, .renew = true});
    EXPECT_EQ(tell_java("a", "try", "permits", {2'000, 60'000}), "");  // null
    EXPECT_TRUE(held.valid());
}

TEST_P(counters_with_redisson, returned_permit_wakes_the_other_client) {
    permits.try_set_permits(1);
    auto id = tell_java("a", "try", "permits", {0, 60'000});
    begin_waiting();
    auto ours = in_background([&] { return permits.acquire(); });
    ASSERT_TRUE(ours_waits());
    const stopwatch since;
    tell_about("release", id);
    lease held = ours.get();
    EXPECT_LT(since.took(), slack);
    auto theirs = ask_java("w", "try", "permits", {20'000, 60'000});
    ASSERT_TRUE(java_listens("redisson_sc:{" + name + "}", 1));
    EXPECT_TRUE(held.release());
    id = theirs.get();
    EXPECT_EQ(id.size(), 32U);
    tell_about("release", id);
}

// --- latch ------------------------------------------------------------------------------------------

TEST_P(counters_with_redisson, latch_counted_down_by_both_clients_lets_both_through) {
    EXPECT_EQ(tell_java("a", "set", "latch", {3}), "true");
    EXPECT_FALSE(counted.try_set_count(7));
    begin_waiting();
    auto ours = in_background([&] { counted.wait(); });
    auto theirs = ask_java("w", "await", "latch", {20'000});
    ASSERT_TRUE(ours_waits());
    EXPECT_TRUE(eventually(patience, [&] {
        return server.command({"PUBSUB", "NUMSUB", "redisson_countdownlatch__channel__{" + name + "}"})
                   .items.at(1)
                   .number == 2;
    }));
    tell_java("a", "down", "latch");
    EXPECT_EQ(counted.count_down(), 1);
    EXPECT_FALSE(theirs.ready(20ms));
    const stopwatch since;
    EXPECT_EQ(counted.count_down(), 0);
    ours.get();
    EXPECT_EQ(theirs.get(), "true");
    EXPECT_LT(since.took(), slack);
    EXPECT_EQ(tell_java("a", "count", "latch"), "0");
}

TEST_P(counters_with_redisson, latch_deleted_by_redisson_lets_holdfast_through) {
    counted.try_set_count(2);
    begin_waiting();
    auto ours = in_background([&] { counted.wait(); });
    ASSERT_TRUE(ours_waits());
    EXPECT_EQ(tell_java("a", "delete", "latch"), "true");
    ours.get();
}

// Redisson's own delete() leaves its waiters blocked.
TEST_P(counters_with_redisson, latch_erased_by_holdfast_lets_redisson_through) {
    counted.try_set_count(2);
    auto theirs = ask_java("w", "await", "latch", {20'000});
    ASSERT_TRUE(java_listens("redisson_countdownlatch__channel__{" + name + "}"));
    EXPECT_TRUE(counted.erase());
    EXPECT_EQ(theirs.get(), "true");
}

INSTANTIATE_TEST_SUITE_P(with, counters_with_redisson, both_redissons(), version_name);

}  // namespace
}  // namespace holdfast::test
