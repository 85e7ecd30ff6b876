#include "io/reactor.hpp"

#include "support/eventually.hpp"
#include "support/forked.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <latch>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

// Runs `f` on the reactor and waits until it returns.
template <class F>
void on(reactor& r, F f) {
    std::latch done{1};
    r.post([&] {
        f();
        done.count_down();
    });
    done.wait();
}

TEST(reactor, runs_posted_tasks_in_order_on_its_thread) {
    reactor r;
    std::vector<int> order;
    bool on_it = false;
    for (int i = 0; i < 1000; ++i) r.post([&, i] { order.push_back(i); });
    on(r, [&] { on_it = r.in_thread(); });
    EXPECT_TRUE(on_it);
    EXPECT_FALSE(r.in_thread());
    ASSERT_EQ(order.size(), 1000u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(reactor, accepts_posts_from_many_threads) {
    reactor r;
    int count = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 1000; ++i) r.post([&] { ++count; });
        });
    for (auto& t : threads) t.join();
    on(r, [] {});
    EXPECT_EQ(count, 8000);
}

TEST(reactor, runs_timers_when_they_are_due_and_in_that_order) {
    reactor r;
    std::vector<std::string> order;
    std::latch done{3};
    const auto now = boot_clock::now();
    const auto note = [&](const char* name, time_point due) {
        return [&, name, due] {
            EXPECT_GE(boot_clock::now(), due);
            order.push_back(name);
            done.count_down();
        };
    };
    r.at(now + 30ms, note("late", now + 30ms));
    r.at(now + 10ms, note("early", now + 10ms));
    r.at(now - 1s, note("past", now - 1s));
    done.wait();
    EXPECT_EQ(order, (std::vector<std::string>{"past", "early", "late"}));
}

TEST(reactor, a_cancelled_timer_does_not_run) {
    reactor r;
    std::atomic<bool> ran{false};
    const auto id = r.at(boot_clock::now() + 20ms, [&] { ran = true; });
    EXPECT_TRUE(r.cancel(id));
    EXPECT_FALSE(r.cancel(id));
    std::latch later{1};
    const auto second = r.at(boot_clock::now() + 40ms, [&] { later.count_down(); });
    later.wait();
    EXPECT_FALSE(ran);
    EXPECT_FALSE(r.cancel(second)) << "it has run";
    EXPECT_FALSE(r.cancel(timer_id{}));
}

TEST(reactor, a_timer_may_set_itself_again) {
    reactor r;
    std::latch done{1};
    int left = 50;
    std::function<void()> again = [&] {
        if (--left == 0) return done.count_down();
        r.at(boot_clock::now(), again);
    };
    r.at(boot_clock::now(), again);
    done.wait();
    EXPECT_EQ(left, 0);
}

TEST(reactor, a_timer_at_the_maximum_never_runs_and_delays_no_other) {
    reactor r;
    std::latch done{1};
    const auto never = r.at(time_point::max(), [] { FAIL(); });
    r.at(boot_clock::now() + 1ms, [&] { done.count_down(); });
    done.wait();
    EXPECT_TRUE(r.cancel(never));
}

TEST(reactor, watches_descriptors_until_unwatch) {
    reactor r;
    const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::counting_semaphore<100> seen{0};
    r.watch(fd, EPOLLIN, [&](std::uint32_t events) {
        EXPECT_NE(events & EPOLLIN, 0u);
        std::uint64_t n = 0;
        (void)!::read(fd, &n, sizeof n);
        seen.release();
    });
    const std::uint64_t one = 1;
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(::write(fd, &one, sizeof one), 8);
        ASSERT_TRUE(seen.try_acquire_for(10s));
    }
    r.modify(fd, 0);
    ASSERT_EQ(::write(fd, &one, sizeof one), 8);
    on(r, [] {});
    EXPECT_FALSE(seen.try_acquire());
    r.modify(fd, EPOLLIN);
    EXPECT_TRUE(seen.try_acquire_for(10s));
    on(r, [&] { r.unwatch(fd); });
    ASSERT_EQ(::write(fd, &one, sizeof one), 8);
    on(r, [] {});
    EXPECT_FALSE(seen.try_acquire());
    ::close(fd);
}

TEST(reactor, blocks_signals_and_names_its_thread) {
    reactor r;
    on(r, [] {
        sigset_t blocked;
        ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        EXPECT_TRUE(::sigismember(&blocked, SIGTERM));
        EXPECT_TRUE(::sigismember(&blocked, SIGUSR1));
        char name[16];
        ::pthread_getname_np(::pthread_self(), name, sizeof name);
        EXPECT_STREQ(name, "holdfast");
    });
    sigset_t mine;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mine);
    EXPECT_FALSE(::sigismember(&mine, SIGTERM)) << "the creator keeps its mask";
}

TEST(reactor, stops_with_work_left_and_leaves_no_descriptor) {
    const auto before = test::count_open_fds();
    auto alive = std::make_shared<int>(0);
    for (int i = 0; i < 50; ++i) {
        reactor r;
        r.at(boot_clock::now() + 1h, [alive] {});
        r.post([alive] {});
    }
    EXPECT_EQ(alive.use_count(), 1) << "tasks that never ran are destroyed";
    EXPECT_EQ(test::count_open_fds(), before);
}

#if !defined(__SANITIZE_THREAD__)  // TSan starts a thread of its own in the child
TEST(reactor, can_be_abandoned_and_destroyed_in_a_forked_child) {
    auto r = std::make_unique<reactor>();
    const int end = test::in_forked_child([&] {
        r->abandon();
        r.reset();
        return 7;
    });
    EXPECT_EQ(end, 7);
    on(*r, [] {});
}
#endif

}  // namespace
}  // namespace holdfast::io
