// The queue of the native mutex while many waiters come and go, and while others delete it.
#include "server/scene.hpp"

#include <atomic>

namespace holdfast::test {
namespace {

constexpr int clients = 4;

template <class Kind>
class queue_under_load : public ::testing::Test {
  protected:
    // Each client acquires the lock `times` times in sequence; `meanwhile` is called until all are done.
    void run(int times, milliseconds poll_gap, const std::function<void()>& meanwhile) {
        std::atomic<int> inside{0};
        std::atomic<int> done{0};
        std::vector<std::future<void>> all;
        for (int i = 0; i < clients; ++i) {
            all.push_back(in_background([&] {
                config c = settings(server.url());
                c.poll_gap = poll_gap;
                client mine{c};
                auto lock = Kind::make(mine, "job");
                for (int n = 0; n < times; ++n) {
                    lease held = lock.try_acquire_for(patience);
                    EXPECT_TRUE(held.valid());
                    EXPECT_EQ(inside.fetch_add(1), 0) << "two clients hold the lock";
                    inside.fetch_sub(1);
                    EXPECT_EQ(held.release(), release_outcome::released);
                }
                done.fetch_add(1);
            }));
        }
        while (done.load() < clients) meanwhile();
        for (auto& a : all) a.get();
    }

    redis_server server;
};
TYPED_TEST_SUITE(queue_under_load, native_kinds, kind_names);

TYPED_TEST(queue_under_load, lock_is_never_free_while_a_waiter_is_queued) {
    std::int64_t looks = 0;
    std::int64_t seen_queues = 0;
    this->run(1500 / slower, 1s, [&] {
        const auto seen = this->server.command(
            {"EVAL", "return {redis.call('EXISTS', KEYS[1]), redis.call('ZCARD', KEYS[2])}", "2", "job",
             queue_of("job")});
        ++looks;
        seen_queues += seen.items.at(1).number > 0 ? 1 : 0;
        EXPECT_FALSE(seen.items.at(0).number == 0 && seen.items.at(1).number > 0);
    });
    EXPECT_GT(seen_queues, 0) << "of " << looks << " looks";
    EXPECT_FALSE(exists(this->server, "job"));
    EXPECT_FALSE(exists(this->server, queue_of("job")));
}

TYPED_TEST(queue_under_load, all_are_served_although_the_queue_is_deleted_repeatedly) {
    std::int64_t deleted = 0;
    const stopwatch since;
    this->run(200 / slower, 100ms, [&] {
        // Not every time, or no waiter would ever be queued.
        if (queued(this->server, "job") >= clients / 2)
            deleted += this->server.command({"DEL", queue_of("job")}).number;
    });
    EXPECT_GT(deleted, 0);
    EXPECT_LT(since.took(), 10s + taken_by_the_machine());
    EXPECT_FALSE(exists(this->server, "job"));
}

TYPED_TEST(queue_under_load, waiter_is_served_although_a_message_is_lost) {
    // As in waiting_test, but one message of many is lost: this costs one poll gap, not a grant TTL.
    fault_proxy net{this->server};
    client other{this->server.url()};
    client behind_it{net.url()};
    auto first = TypeParam::make(other, "job");
    auto lock = TypeParam::make(behind_it, "job");
    for (int i = 0; i < 3; ++i) {
        lease held = first.acquire();
        auto waiter = waiter_for(lock);
        ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
        net.swallow_messages(i == 1);
        const stopwatch since;
        EXPECT_TRUE(held.release());
        lease got = waiter.get();
        EXPECT_TRUE(got.valid());
        EXPECT_LT(since.took(), (i == 1 ? 1s : 0s) + slack);
        EXPECT_TRUE(got.release());
    }
    EXPECT_EQ(net.count().messages_swallowed, 1U);
}

}  // namespace
}  // namespace holdfast::test
