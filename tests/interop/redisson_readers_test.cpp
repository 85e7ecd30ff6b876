// Readers and writers of both languages on one RReadWriteLock.
#include "interop/java_scene.hpp"

namespace holdfast::test {
namespace {

class read_write_lock_with_redisson : public java_scene {
  protected:
    [[nodiscard]] bool waits(std::int64_t n = 1) const { return writing_shared.waits(name, n); }
    bool java_may(std::string_view kind) {
        if (tell_java("try", "try", kind) != "true") return false;
        tell_java("try", "unlock", kind);
        return true;
    }
    bool we_may_write() { return static_cast<bool>(lock.try_acquire()); }
    bool we_may_read() { return static_cast<bool>(lock.try_acquire_shared()); }

    shared_mutex lock{c, name};
};

TEST_P(read_write_lock_with_redisson, readers_of_both_clients_share_the_lock_and_exclude_writers) {
    tell_java("a", "lock", "read");
    lease reading = lock.acquire_shared();
    EXPECT_TRUE(java_may("read"));
    EXPECT_TRUE(we_may_read());
    EXPECT_FALSE(java_may("write"));
    EXPECT_FALSE(we_may_write());
    // Whichever reader releases first, the other still holds the lock.
    EXPECT_TRUE(reading.release());
    EXPECT_FALSE(we_may_write());
    reading = lock.acquire_shared();
    tell_java("a", "unlock", "read");
    EXPECT_FALSE(java_may("write"));
    EXPECT_TRUE(reading.valid());
    EXPECT_GT(pttl(server, name), 25s);
    EXPECT_TRUE(reading.release());
    EXPECT_TRUE(java_may("write"));
    EXPECT_TRUE(we_may_write());
}

TEST_P(read_write_lock_with_redisson, writer_of_either_client_excludes_readers_of_the_other) {
    tell_java("a", "lock", "write");
    EXPECT_FALSE(we_may_read());
    tell_java("a", "unlock", "write");
    lease writing = lock.acquire();
    EXPECT_FALSE(java_may("read"));
    EXPECT_TRUE(writing.release());
}

TEST_P(read_write_lock_with_redisson, last_reader_of_either_client_admits_the_writer_of_the_other) {
    EXPECT_LT(quickest(
                  [&] {
                      tell_java("a", "lock", "read");
                      tell_java("b", "lock", "read");
                      auto waiter = waiter_for(lock);
                      EXPECT_TRUE(waits());
                      tell_java("a", "unlock", "read");
                      EXPECT_FALSE(ready(waiter, 20ms));
                      return waiter;
                  },
                  [&] { tell_java("b", "unlock", "read"); },
                  [](auto& waiter) { EXPECT_TRUE(waiter.get().valid()); }),
              at_once);
    lease one, two;
    EXPECT_LT(quickest(
                  [&] {
                      one = lock.acquire_shared();
                      two = lock.acquire_shared();
                      auto waiter = ask_java("a", "lock", "write");
                      EXPECT_TRUE(waits());
                      EXPECT_TRUE(one.release());
                      EXPECT_FALSE(waiter.ready(20ms));
                      return waiter;
                  },
                  [&] { EXPECT_TRUE(two.release()); },
                  [&](auto& waiter) {
                      waiter.get();
                      tell_java("a", "unlock", "write");
                  }),
              at_once);
}

TEST_P(read_write_lock_with_redisson, release_of_a_writer_admits_all_readers_of_all_clients) {
    client d{without_polls()};
    shared_mutex elsewhere{d, name};
    peer& other_java =
        redisson(GetParam() == std::string_view{newest_redisson} ? late_redisson_3 : newest_redisson);
    const auto read_with_all = [&](const std::function<void()>& writer_leaves) {
        auto first = in_background([&] { return lock.try_acquire_shared_for(patience); });
        auto second = in_background([&] { return elsewhere.try_acquire_shared_for(patience); });
        auto third = ask_java("a", "lock", "read");
        auto fourth = other_java.ask("a", "lock", "read", name);
        EXPECT_TRUE(waits(4));
        const stopwatch since;
        writer_leaves();
        EXPECT_TRUE(first.get().release());
        EXPECT_TRUE(second.get().release());
        third.get();
        fourth.get();
        EXPECT_LT(since.took(), slack);
        tell_java("a", "unlock", "read");
        other_java.tell("a", "unlock", "read", name);
        EXPECT_TRUE(waits(0));
    };
    tell_java("w", "lock", "write");
    read_with_all([&] {
        tell_java("w", "unlock", "write");
        // Java's own waiters may have missed that: see redisson_that_has_just_asked_...
        server.command({"PUBLISH", "redisson_rwlock:{" + name + "}", "0"});
    });
    lease writing = lock.acquire();
    read_with_all([&] { EXPECT_TRUE(writing.release()); });
}

TEST_P(read_write_lock_with_redisson, redisson_that_has_just_asked_is_woken_by_our_writer) {
    for (int i = 0; i < 60; ++i) {
        lease held = lock.acquire();
        auto waiter = ask_java("a", "lock", "write");
        // Java has subscribed, and asks once more before it sleeps.
        ASSERT_TRUE(waits());
        EXPECT_TRUE(held.release());
        ASSERT_TRUE(waiter.ready(5s)) << "round " << i;
        tell_java("a", "unlock", "write");
    }
}

// --- from writer to reader -------------------------------------------------------------------------

// Redisson sends no message then: our readers learn of it at their next poll, Java's at the end of the TTL.
TEST_P(read_write_lock_with_redisson, downgraded_redisson_writer_admits_our_readers_at_their_next_poll) {
    client polling{settings(server.url())};
    shared_mutex ours{polling, name};
    tell_java("a", "lock", "write", {60'000});
    auto waiter = in_background([&] { return ours.try_acquire_shared_for(patience); });
    ASSERT_TRUE(waits());
    tell_java("a", "lock", "read", {60'000});
    EXPECT_FALSE(ready(waiter, 50ms));
    const stopwatch since;
    tell_java("a", "unlock", "write");
    lease got = waiter.get();
    EXPECT_TRUE(got.valid());
    EXPECT_LT(since.took(), polling.settings().poll_gap + slack);
    EXPECT_FALSE(we_may_write());
    tell_java("a", "unlock", "read");
    EXPECT_FALSE(java_may("write"));
    EXPECT_TRUE(got.release());
    EXPECT_TRUE(we_may_write());
}

TEST_P(read_write_lock_with_redisson, downgraded_holdfast_writer_admits_redisson_readers_at_once) {
    lease reading;
    lease writing;
    EXPECT_LT(quickest(
                  [&] {
                      writing = lock.acquire();
                      auto waiter = ask_java("a", "lock", "read");
                      EXPECT_TRUE(waits());
                      reading = lock.acquire_shared(writing);
                      EXPECT_FALSE(waiter.ready(20ms));
                      return waiter;
                  },
                  [&] { EXPECT_TRUE(writing.release()); },
                  [&](auto& waiter) {
                      waiter.get();
                      EXPECT_FALSE(java_may("write"));
                      EXPECT_TRUE(reading.valid());
                      EXPECT_TRUE(reading.release());
                      EXPECT_FALSE(we_may_write());
                      tell_java("a", "unlock", "read");
                  }),
              at_once);
    EXPECT_TRUE(java_may("write"));
}

// --- nested holds, renewals and dead readers -------------------------------------------------------

TEST_P(read_write_lock_with_redisson, readers_of_both_clients_may_lock_more_than_once) {
    tell_java("a", "lock", "read");
    tell_java("a", "lock", "read");
    EXPECT_EQ(tell_java("a", "holds", "read"), "2");
    lock.lock_shared();
    lock.lock_shared();
    tell_java("a", "unlock", "read");
    lock.unlock_shared();
    EXPECT_FALSE(java_may("write"));
    tell_java("a", "unlock", "read");
    EXPECT_FALSE(java_may("write"));
    EXPECT_FALSE(in_background([&] { return we_may_write(); }).get());
    lock.unlock_shared();
    EXPECT_TRUE(java_may("write"));
}

TEST_P(read_write_lock_with_redisson, watchdog_of_either_client_keeps_its_reader) {
    tell_java("a", "lock", "read");
    auto waiter = waiter_for(lock);
    EXPECT_TRUE(renewed(name, 4));
    EXPECT_FALSE(ready(waiter));
    tell_java("a", "unlock", "read");
    EXPECT_TRUE(waiter.get().release());

    client brisk{without_polls(brisk_lease)};
    shared_mutex ours{brisk, name};
    lease reading = ours.acquire_shared();
    auto java_writer = ask_java("a", "lock", "write");
    EXPECT_TRUE(renewed(name, 4));
    EXPECT_FALSE(java_writer.ready());
    EXPECT_TRUE(reading.valid());
    EXPECT_TRUE(reading.release());
    java_writer.get();
    tell_java("a", "unlock", "write");
}

TEST_P(read_write_lock_with_redisson, killed_redisson_reader_does_not_outlast_its_lease_beside_ours) {
    const auto doomed = start_redisson(interop_server(), GetParam());
    doomed->tell("a", "lock", "read", name);
    client brisk{without_polls(brisk_lease)};
    shared_mutex ours{brisk, name};
    lease reading = ours.acquire_shared();
    doomed->process().kill();
    EXPECT_TRUE(renewed(name, 4));
    auto waiter = ask_java("b", "lock", "write");
    EXPECT_TRUE(waits());
    const stopwatch since;
    EXPECT_TRUE(reading.release());
    waiter.get();
    EXPECT_LT(since.took(), slack);
    tell_java("b", "unlock", "write");
}

// Redisson before 4.4 renews the marks of every reader that it finds, dead ones too. The lock is then free
// when the marks have expired.
TEST_P(read_write_lock_with_redisson, killed_holdfast_reader_does_not_outlast_its_lease_beside_redisson) {
    auto doomed = child_process::fork_call([&](const parent_link& parent) {
        client mine{without_polls(brisk_lease)};
        shared_mutex theirs{mine, name};
        const lease held = theirs.acquire_shared();
        parent.report("held");
        (void)parent.await_line();
        return 0;
    });
    ASSERT_TRUE(doomed.wait_for_output("held", patience));
    tell_java("a", "lock", "read");
    doomed.kill();
    EXPECT_TRUE(renewed(name, 4));
    EXPECT_FALSE(we_may_write());
    auto waiter = waiter_for(lock);
    const stopwatch since;
    tell_java("a", "unlock", "read");
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), brisk_lease + slack);
}

INSTANTIATE_TEST_SUITE_P(, read_write_lock_with_redisson, both_redissons(), version_name);

}  // namespace
}  // namespace holdfast::test
