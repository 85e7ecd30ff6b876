// Misuse of a lock is reported to the program.
#include "support/misuse.hpp"
#include "regress/one_process.hpp"
#include "server/scene.hpp"

#include <thread>

namespace holdfast::test {
namespace {

TEST(unlock, by_a_thread_that_does_not_hold_the_lock_is_reported) {
    const misuse_expected here;
    client c{in_this_process()};
    mutex lock{c, "job"};
    const event_recorder events{c};
    lock.unlock();
    ASSERT_TRUE(events.has(event_kind::release_failed));
    EXPECT_EQ(events.last(event_kind::release_failed).reason, errc::not_owner);
    EXPECT_EQ(here.count(), 1);
}

TEST(lock_object, that_is_destroyed_while_it_is_locked_is_reported_and_not_renewed) {
    const misuse_expected here;
    auto how = in_this_process();
    how.lease = 1s;
    client c{how};
    const event_recorder events{c};
    {
        mutex lock{c, "job"};
        lock.lock();
    }
    EXPECT_EQ(here.count(), 1);
    ASSERT_TRUE(events.has(event_kind::release_failed));
    EXPECT_EQ(events.last(event_kind::release_failed).lock, "job");
    EXPECT_EQ(events.last(event_kind::release_failed).reason, errc::not_owner);
    mutex again{c, "job"};
    EXPECT_TRUE(again.try_acquire_for(patience)) << "it has expired";
    EXPECT_TRUE(events.has(event_kind::lost));
}

TEST(lock_object, may_be_destroyed_while_another_object_holds_the_same_lock) {
    const misuse_expected here;
    client c{in_this_process()};
    mutex lock{c, "job"};
    lock.lock();
    { const mutex same{c, "job"}; }
    EXPECT_TRUE(lock.valid());
    lock.unlock();
    EXPECT_EQ(here.count(), 0);
    EXPECT_TRUE(lock.try_acquire());
}

TEST(lock_object, may_be_destroyed_after_the_thread_that_holds_it_has_ended) {
    const misuse_expected here;
    auto how = in_this_process();
    how.lease = 1s;
    client c{how};
    const event_recorder events{c};
    {
        mutex lock{c, "job"};
        std::thread{[&] { lock.lock(); }}.join();
    }
    EXPECT_TRUE(events.has(event_kind::holder_gone)) << "the end of the thread is reported instead";
    EXPECT_EQ(here.count(), 0);
}

// Thread sanitizer does not support new threads after fork.
#if !defined(__SANITIZE_THREAD__)
TEST(misuse, ends_the_process_in_a_build_without_NDEBUG) {
    auto child = child_process::fork_call([](const parent_link&) {
        base::on_misuse(nullptr);  // as in a program that is no test
        client c{in_this_process()};
        mutex lock{c, "job"};
        lock.unlock();
        return 0;
    });
#if defined(NDEBUG)
    EXPECT_EQ(child.wait(patience), 0) << child.errors();
#else
    // By a signal, or with the exit code of address sanitizer, which catches it.
    EXPECT_GT(child.wait(patience).value_or(0), 0) << child.errors();
    EXPECT_NE(child.errors().find("unlock() by a thread that does not hold the lock"), std::string::npos);
#endif
}
#endif

// --- texts of errors ---------------------------------------------------------------------------------

template <class Fn>
std::string complaint_of(Fn&& fn) {
    try {
        fn();
    } catch (const error& e) {
        return e.what();
    }
    return {};
}

TEST(error_text, states_the_problem_once) {
    client c{in_this_process()};
    mutex lock{c, "job"};
    const std::lock_guard hold{lock};
    EXPECT_EQ(complaint_of([&] { lock.lock(); }),
              "this thread already holds the mutex \"job\", which is not recursive");
    EXPECT_EQ(complaint_of([&] { (void)lock.acquire({.ttl = 0ms}); }),
              "a ttl must be 1 ms or more, and 0s was given");
}

TEST(error_text, names_the_reason_where_the_store_gave_none) {
    client c{in_this_process()};
    mutex lock{c, "job"};
    const auto held = lock.acquire();
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(complaint_of([&] { (void)lock.acquire({.stop = stop.get_token()}); }),
              "the lock \"job\" could not be acquired: the wait was cancelled");
}

TEST(owner, is_printable_whatever_another_client_wrote) {
    EXPECT_EQ(owner_id{"a\x1b[2J\xff"}.printable(), lock_name{"a\x1b[2J\xff"}.printable());
    EXPECT_EQ(owner_id{}.printable(), "");
}

}  // namespace
}  // namespace holdfast::test
