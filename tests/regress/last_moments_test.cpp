// Locking in destructors that run when a thread or the process ends.
#include "regress/one_process.hpp"
#include "server/scene.hpp"

#include <atomic>
#include <cstdlib>
#include <thread>

namespace holdfast::test {
namespace {

std::atomic<int> locked_at_last{0};

struct locks_when_destroyed {
    mutex* lock = nullptr;

    locks_when_destroyed() = default;
    locks_when_destroyed(const locks_when_destroyed&) = delete;
    locks_when_destroyed& operator=(const locks_when_destroyed&) = delete;
    ~locks_when_destroyed() {
        if (lock == nullptr) return;
        const std::lock_guard hold{*lock};
        if (lock->valid() && lock->held_by_this_thread()) ++locked_at_last;
    }
};

TEST(destructor_of_a_thread_local, may_lock_after_the_thread_has_locked_before) {
    client c{in_this_process()};
    mutex lock{c, "job"};
    const auto before = locked_at_last.load();
    std::thread{[&] {
        thread_local locks_when_destroyed last;  // made before anything of ours, so destroyed after it
        last.lock = &lock;
        const std::lock_guard hold{lock};
    }}.join();
    EXPECT_EQ(locked_at_last, before + 1);
    EXPECT_TRUE(lock.try_acquire()) << "and it is free";
}

TEST(destructor_of_a_thread_local, may_unlock_what_the_thread_has_locked) {
    client c{in_this_process()};
    mutex lock{c, "job"};
    const event_recorder events{c};
    std::thread{[&] {
        thread_local std::unique_lock<mutex> until_the_end;
        until_the_end = std::unique_lock{lock};
    }}.join();
    EXPECT_EQ(events.count(event_kind::release_failed), 0U);
    EXPECT_TRUE(lock.try_acquire());
}

// Thread sanitizer does not support new threads after fork.
#if !defined(__SANITIZE_THREAD__)
TEST(destructor_of_a_static, may_lock_when_the_process_ends) {
    auto child = child_process::fork_call([](const parent_link& parent) -> int {
        static const parent_link& to = parent;
        static client c{in_this_process()};
        static mutex lock{c, "job"};
        static struct at_exit {
            at_exit() = default;
            at_exit(const at_exit&) = delete;
            at_exit& operator=(const at_exit&) = delete;
            ~at_exit() {
                {
                    const std::lock_guard hold{lock};
                    to.report(lock.valid() ? "locked" : "not locked");
                }
                try {
                    (void)lock.acquire({.ttl = -1ms});
                } catch (const error& e) {
                    to.report(e.code().message());
                }
            }
        } last;
        (void)code_of(
            [&] { (void)lock.acquire({.ttl = -1ms}); });  // its category is made after all of the above
        lock.lock();
        lock.unlock();
        std::exit(0);
    });
    EXPECT_TRUE(child.wait_for_output("locked\n", patience)) << child.errors();
    EXPECT_TRUE(child.wait_for_output("an argument cannot be used\n", patience)) << child.errors();
    EXPECT_EQ(child.wait(patience), 0) << child.errors();
}
#endif

}  // namespace
}  // namespace holdfast::test
