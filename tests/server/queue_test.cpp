// The queue of the native mutex: which waiter is served next when another dies, stalls or gives up.
#include "server/scene.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace holdfast::test {
namespace {

constexpr int length = 5;

// Whether a client listens to the wake channel of this owner token.
bool has_listener(redis_server& server, const std::string& token) {
    return server.command({"PUBSUB", "NUMSUB", "holdfast:wake:" + token.substr(0, 22)}).items.at(1).number >
           0;
}

// Waiters behind one holder. Each has its own client and releases the lock as soon as it has acquired it.
template <class Kind>
class waiters {
  public:
    waiters(redis_server& server, std::string name) : server_(server), name_(std::move(name)) {
        first_ = lock_.acquire();
    }

    // Adds a waiter to the end of the queue, identified by this number. On a slow machine it may have given
    // up before anyone sees it there.
    void add(
        int number, std::function<lease(mutex&)> how = [](mutex& m) { return m.acquire(); }) {
        const auto before = waiters_in(server_, name_);
        done_.push_back(in_background([this, number, how = std::move(how)] {
            client c{settings(server_.url())};
            auto lock = Kind::make(c, name_);
            lease held;
            try {
                held = how(lock);
            } catch (const error&) {
                return;
            }
            if (!held) return;
            {
                const std::lock_guard hold{mutex_};
                order_.push_back(number);
            }
            EXPECT_TRUE(held.release());
        }));
        ASSERT_TRUE(eventually(patience, [&] { return has_more_than(before) || ready(done_.back(), 0ms); }));
    }
    // Adds a waiter of another process: `start` makes it ask.
    void add_process(const std::function<void()>& start) {
        const auto before = waiters_in(server_, name_);
        start();
        ASSERT_TRUE(eventually(patience, [&] { return has_more_than(before); }));
    }
    void release_holder() { EXPECT_TRUE(first_.release()); }

    // The waiters' numbers in the order in which they were served.
    std::vector<int> served() {
        for (auto& d : done_) d.get();
        done_.clear();
        const std::lock_guard hold{mutex_};
        return order_;
    }
    std::string last_in_queue() {
        return server_.command({"ZRANGE", queue_of(name_), "-1", "-1"}).items.at(0).text;
    }
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    // One joins the queue while another may leave it.
    bool has_more_than(const std::vector<std::string>& before) {
        const auto now = waiters_in(server_, name_);
        return std::any_of(now.begin(), now.end(), [&](const std::string& one) {
            return std::find(before.begin(), before.end(), one) == before.end();
        });
    }

    redis_server& server_;
    const std::string name_;
    client holder_{settings(server_.url())};
    mutex lock_ = Kind::make(holder_, name_);
    lease first_;
    std::mutex mutex_;
    std::vector<int> order_;
    std::vector<std::future<void>> done_;
};

std::string nth_job(int n) { return "job" + std::to_string(n); }

std::vector<int> all_but(int missing) {
    std::vector<int> numbers;
    for (int i = 0; i < length; ++i)
        if (i != missing) numbers.push_back(i);
    return numbers;
}

// A process that waits for "job<n>" once it reads a line.
template <class Kind>
child_process waiting_process(const std::string& url, int n) {
    return child_process::fork_call([url, n](const parent_link& parent) {
        (void)parent.await_line();
        client c{settings(url)};
        auto lock = Kind::make(c, nth_job(n));
        lease held = lock.acquire();
        parent.report(held.valid() ? "valid" : "not valid");
        parent.report(held.release() ? "released" : "not released");
        return 0;
    });
}

template <class Kind>
class queue : public ::testing::Test {
  protected:
    redis_server server;
};
TYPED_TEST_SUITE(queue, native_kinds, kind_names);

TYPED_TEST(queue, serves_in_the_order_of_arrival) {
    waiters<TypeParam> five{this->server, "job"};
    for (int i = 0; i < length; ++i) five.add(i);
    five.release_holder();
    EXPECT_EQ(five.served(), all_but(-1));
}

TYPED_TEST(queue, skips_killed_waiters_without_delay) {
    std::vector<child_process> victims;
    for (int n = 0; n < length; ++n) victims.push_back(waiting_process<TypeParam>(this->server.url(), n));
    for (int n = 0; n < length; ++n) {
        SCOPED_TRACE(n);
        waiters<TypeParam> five{this->server, nth_job(n)};
        std::string token;
        for (int i = 0; i < length; ++i) {
            if (i != n) {
                five.add(i);
                continue;
            }
            five.add_process([&] { victims[static_cast<std::size_t>(n)].write("wait\n"); });
            token = five.last_in_queue();
        }
        victims[static_cast<std::size_t>(n)].kill();
        ASSERT_TRUE(eventually(patience, [&] { return !has_listener(this->server, token); }));
        const stopwatch since;
        five.release_holder();
        EXPECT_EQ(five.served(), all_but(n));
        EXPECT_LT(since.took(), 1s + slack);  // and not a grant TTL of 3 s
    }
}

TYPED_TEST(queue, loses_one_grant_ttl_to_a_stalled_waiter) {
    std::vector<child_process> sleepers;
    std::vector<std::unique_ptr<waiters<TypeParam>>> queues;
    for (int n = 0; n < length; ++n) sleepers.push_back(waiting_process<TypeParam>(this->server.url(), n));
    for (int n = 0; n < length; ++n) {
        queues.push_back(std::make_unique<waiters<TypeParam>>(this->server, nth_job(n)));
        for (int i = 0; i < length; ++i) {
            if (i != n)
                queues.back()->add(i);
            else
                queues.back()->add_process([&] { sleepers[static_cast<std::size_t>(n)].write("wait\n"); });
        }
    }
    for (auto& s : sleepers) s.pause();
    const stopwatch since;
    for (auto& l : queues) l->release_holder();
    for (int n = 0; n < length; ++n)
        EXPECT_EQ(queues[static_cast<std::size_t>(n)]->served(), all_but(n)) << n;
    EXPECT_LT(since.took(), 3s + 1s + slack);
    EXPECT_GT(since.took(), 2s);

    // A resumed waiter does not trust its expired grant: another client holds the lock.
    client c{this->server.url()};
    std::vector<std::unique_ptr<mutex>> locks;
    std::vector<lease> held;
    for (int n = 0; n < length; ++n) {
        locks.push_back(std::unique_ptr<mutex>{new mutex(TypeParam::make(c, nth_job(n)))});
        held.push_back(locks.back()->acquire());
        sleepers[static_cast<std::size_t>(n)].resume();
    }
    for (int n = 0; n < length; ++n) {
        auto& sleeper = sleepers[static_cast<std::size_t>(n)];
        // The waiter is queued again, and is served.
        EXPECT_TRUE(eventually(patience, [&] { return queued(this->server, nth_job(n)) == 1; })) << n;
        EXPECT_FALSE(sleeper.wait_for_output("valid", 0ms)) << n;
        EXPECT_TRUE(held[static_cast<std::size_t>(n)].release()) << n;
        EXPECT_TRUE(sleeper.wait_for_output("valid\nreleased\n", patience)) << n << sleeper.output();
        EXPECT_EQ(sleeper.output().find("not valid"), std::string::npos) << n;
    }
}

TYPED_TEST(queue, skips_a_cancelled_waiter) {
    for (int n = 0; n < length; ++n) {
        SCOPED_TRACE(n);
        waiters<TypeParam> five{this->server, nth_job(n)};
        std::stop_source stop;
        for (int i = 0; i < length; ++i) {
            if (i != n)
                five.add(i);
            else
                five.add(i, [token = stop.get_token()](mutex& m) { return m.acquire({.stop = token}); });
        }
        stop.request_stop();
        EXPECT_TRUE(eventually(patience, [&] { return queued(this->server, five.name()) == length - 1; }));
        const stopwatch since;
        five.release_holder();
        EXPECT_EQ(five.served(), all_but(n));
        EXPECT_LT(since.took(), 1s + slack);
    }
}

TYPED_TEST(queue, skips_a_waiter_that_timed_out) {
    for (int n = 0; n < length; ++n) {
        SCOPED_TRACE(n);
        waiters<TypeParam> five{this->server, nth_job(n)};
        for (int i = 0; i < length; ++i) {
            if (i != n)
                five.add(i);
            else
                five.add(i, [](mutex& m) { return m.try_acquire_for(200ms); });
        }
        EXPECT_TRUE(eventually(patience, [&] { return queued(this->server, five.name()) == length - 1; }));
        const stopwatch since;
        five.release_holder();
        EXPECT_EQ(five.served(), all_but(n));
        EXPECT_LT(since.took(), 1s + slack);
    }
}

TYPED_TEST(queue, skips_a_thousand_dead_clients_at_once) {
    waiters<TypeParam> living{this->server, "job"};
    std::vector<std::string> dead{"ZADD", queue_of("job")};
    for (int i = 0; i < 1000; ++i) {
        char token[64];
        std::snprintf(token, sizeof token, "%022d|%d", i, i);
        dead.push_back(std::to_string(i));
        dead.emplace_back(token);
    }
    EXPECT_EQ(this->server.command(dead).number, 1000);
    living.add(1);
    const auto queue_length = [&] { return this->server.command({"ZCARD", queue_of("job")}).number; };
    EXPECT_EQ(queue_length(), 1001);
    const stopwatch since;
    living.release_holder();
    EXPECT_EQ(living.served(), std::vector<int>{1});
    EXPECT_LT(since.took(), slack);
    EXPECT_EQ(queue_length(), 0);
}

}  // namespace
}  // namespace holdfast::test
