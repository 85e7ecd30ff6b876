// The system gives no more threads (a limit of the container, no memory): the process must not end.
#include "regress/one_process.hpp"
#include "server/scene.hpp"

#include <atomic>
#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>

namespace {

std::atomic<bool> none_left{false};
std::atomic<int> refused_threads{0};

struct no_thread_is_left {
    no_thread_is_left() {
        refused_threads = 0;
        none_left = true;
    }
    no_thread_is_left(const no_thread_is_left&) = delete;
    no_thread_is_left& operator=(const no_thread_is_left&) = delete;
    ~no_thread_is_left() { none_left = false; }
};

}  // namespace

// Replaces the system's function in this whole program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
    if (none_left) {
        ++refused_threads;
        return EAGAIN;
    }
    static const auto real =
        reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, run, argument);
}

namespace holdfast::test {
namespace {

template <class Fn>
bool says_that_no_thread_is_left(Fn&& fn) {
    try {
        fn();
    } catch (const std::system_error& e) {
        return e.code() == std::errc::resource_unavailable_try_again;
    }
    return false;
}

TEST(no_thread_left, loss_is_reported_all_the_same) {
    client c{in_this_process()};
    mutex one{c, "one"};
    const auto held = one.acquire({.ttl = 500ms});
    const no_thread_is_left now;
    const auto lost = held.lost_token();
    EXPECT_TRUE(eventually(patience, [&] { return lost.stop_requested(); }));
}

TEST(no_thread_left, listener_registration_throws) {
    client c{in_this_process()};
    {
        const no_thread_is_left now;
        EXPECT_TRUE(says_that_no_thread_is_left([&] { (void)c.on_event([](const event&) {}); }));
    }
    const event_recorder later{c};
    mutex one{c, "one"};
    (void)one.acquire();
    EXPECT_TRUE(later.has(event_kind::acquired));
}

TEST(no_thread_left, client_constructor_throws) {
    const auto threads = count_threads();
    const auto fds = count_open_fds();
    {
        const no_thread_is_left now;
        EXPECT_TRUE(says_that_no_thread_is_left([&] { client c{in_this_process()}; }));
    }
    EXPECT_TRUE(eventually(patience, [&] { return count_threads() <= threads && count_open_fds() <= fds; }));
}

TEST(no_thread_left, client_reconnects_after_the_resolver_got_no_thread) {
    redis_server server;
    auto how = settings("redis://localhost:" + std::to_string(server.port()));
    how.answer_timeout = 300ms * slower;
    client c{how};
    const event_recorder events{c};
    mutex one{c, "one"};
    ASSERT_TRUE(events.has(event_kind::store_up));
    ASSERT_TRUE(one.try_acquire_for(patience));
    {
        const no_thread_is_left now;
        server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        ASSERT_TRUE(events.has(event_kind::store_down));
        ASSERT_TRUE(eventually(patience, [] { return refused_threads >= 2; })) << "the client tries again";
        EXPECT_EQ(code_of([&] { (void)one.try_acquire(); }), errc::unavailable);
    }
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        return static_cast<bool>(one.try_acquire(ec));
    }));
}

}  // namespace
}  // namespace holdfast::test
