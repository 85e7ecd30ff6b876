// What goes wrong between a writer that reads as well and the server.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

config impatient(const std::string& url) {
    config c = settings(url);
    c.answer_timeout = 200ms;
    return c;
}

class writer_that_reads : public ::testing::Test {
  protected:
    // Nobody knows what became of an attempt that had no answer, so it is undone, and again a second later.
    void stumble(const std::function<void()>& what) {
        server.pause();
        EXPECT_NE(code_of(what), std::error_code{});
        server.resume();
    }
    // As long as the undoing goes on.
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

TEST_F(writer_that_reads, keeps_what_it_reads_though_an_earlier_try_had_no_answer) {
    lock.lock();
    stumble([&] { (void)lock.try_lock_shared(); });
    lock.lock_shared();
    lock.unlock();
    expect_reader_alone();
}

TEST_F(writer_that_reads, keeps_what_it_reads_though_an_earlier_unlock_had_no_answer) {
    lock.lock();
    lock.lock_shared();
    server.pause();
    lock.unlock_shared();
    server.resume();
    lock.lock_shared();
    lock.unlock();
    expect_reader_alone();
}

// A count that somebody damaged must not keep the server busy.
TEST(a_damaged_reader, does_not_hold_up_the_server) {
    redis_server server;
    client c{server.url()};
    shared_mutex lock{c, "job"};
    server.command({"HSET", "job", "mode", "read", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "50000000"});
    const stopwatch since;
    EXPECT_EQ(lock.acquire_shared().release(), release_outcome::released);
    EXPECT_LT(since.took(), 1s * slower);
}

}  // namespace
}  // namespace holdfast::test
