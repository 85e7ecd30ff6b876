// Faults of writers that also read, and of readers.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

config impatient(const std::string& url) {
    config c = settings(url);
    c.answer_timeout = 1s;
    return c;
}

class writer_that_reads : public ::testing::Test {
  protected:
    // The outcome of an unanswered attempt is unknown, so the client undoes it, and again a second later.
    void without_an_answer(const std::function<void()>& what) {
        server.pause();
        EXPECT_NE(code_of(what), std::error_code{});
        server.resume();
    }
    // Checks for as long as the undoing goes on.
    void expect_reader_alone() {
        for (const stopwatch since; since.took() < 1500ms;) {
            ASSERT_FALSE(others.try_acquire()) << "after " << since.took().count() << " ms";
            ASSERT_TRUE(lock.shared_held_by_this_thread());
        }
        lock.unlock_shared();
        EXPECT_TRUE(others.try_acquire_for(5s));
    }

    redis_server server;
    client c{impatient(server.url())};
    client d{settings(server.url())};
    shared_mutex lock{c, "job"};
    shared_mutex others{d, "job"};
};

TEST_F(writer_that_reads, keeps_its_read_hold_after_an_unanswered_try) {
    lock.lock();
    without_an_answer([&] { (void)lock.try_lock_shared(); });
    lock.lock_shared();
    lock.unlock();
    expect_reader_alone();
}

TEST_F(writer_that_reads, keeps_its_read_hold_after_an_unanswered_unlock) {
    lock.lock();
    lock.lock_shared();
    server.pause();
    lock.unlock_shared();
    server.resume();
    lock.lock_shared();
    lock.unlock();
    expect_reader_alone();
}

// Two renewals may arrive in another order than they were sent.
TEST(shared_mutex_reader, keeps_its_longer_lease_when_renewed_for_less) {
    redis_server server;
    const std::string owner = "0d2b3c47-0c5e-4a45-9f9e-000000000000:1";
    const std::string mark = "{job}:" + owner + ":rwlock_timeout:1";
    server.command({"HSET", "job", "mode", "read", owner, "1"});
    server.command({"PEXPIRE", "job", "30000"});
    const auto renew = [&](const std::string& lease) {
        return server.command(
            {"EVAL", std::string{redis_scripts::shared_read_renew.text}, "1", "job", lease, owner, mark});
    };
    EXPECT_TRUE(renew("30000").items.empty());
    EXPECT_TRUE(renew("1500").items.empty());
    EXPECT_GT(pttl(server, mark), 20s);
    EXPECT_GT(pttl(server, "job"), 20s);
}

// The first send of the attempt was delayed; the second was granted and renewed. A second reader that
// leaves shortens the lock to the longest mark.
TEST(shared_mutex_reader, keeps_its_renewed_lease_when_its_attempt_arrives_again) {
    redis_server server;
    client c{server.url()};
    shared_mutex lock{c, "job"};
    const std::string owner = "0d2b3c47-0c5e-4a45-9f9e-000000000000:1";
    const std::string mark = "{job}:" + owner + ":rwlock_timeout:1";
    const auto run = [&](const redis_scripts::script& script, std::vector<std::string> words) {
        words.insert(words.begin(), {"EVAL", std::string{script.text}});
        return server.command(words);
    };
    const auto ask = [&] {
        return run(redis_scripts::shared_acquire, {"2", "job", mark, owner, "1500", ""});
    };
    EXPECT_EQ(ask().number, 0);
    run(redis_scripts::shared_read_renew, {"1", "job", "30000", owner, mark});
    EXPECT_EQ(ask().number, 0);
    EXPECT_GT(pttl(server, mark), 20s);
    lock.lock_shared();
    lock.unlock_shared();
    EXPECT_GT(pttl(server, "job"), 20s);
}

// A damaged count must not keep the server busy.
TEST(damaged_reader, does_not_hold_up_the_server) {
    redis_server server;
    client c{server.url()};
    shared_mutex lock{c, "job"};
    server.command({"HSET", "job", "mode", "read", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "50000000"});
    const stopwatch since;
    EXPECT_EQ(lock.acquire_shared().release(), release_outcome::released);
    EXPECT_LT(since.took(), 100ms + slack);
}

}  // namespace
}  // namespace holdfast::test
