// How many commands a lock costs.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class traffic : public ::testing::Test {
  protected:
    redis_server server;
};
TYPED_TEST_SUITE(traffic, all_kinds, kind_names);

TYPED_TEST(traffic, of_an_uncontended_lock_is_two_commands) {
    fault_proxy net{this->server};
    client c{net.url()};
    auto lock = TypeParam::make(c, "job");
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(lock.acquire().release());  // the server learns the scripts
    const auto sent = c.stats().commands_sent;
    const auto seen = net.count().commands;
    for (int i = 0; i < 100; ++i) {
        lock.lock();
        lock.unlock();
    }
    EXPECT_EQ(c.stats().commands_sent - sent, 200U);
    EXPECT_EQ(net.count().commands - seen, 200U);
}

TYPED_TEST(traffic, of_a_nested_lock_is_at_most_two_commands) {
    if constexpr (TypeParam::reentrant) {
        client c{this->server.url()};
        auto lock = TypeParam::make(c, "job");
        lock.lock();
        const auto sent = c.stats().commands_sent;
        for (int i = 0; i < 10; ++i) lock.lock();
        for (int i = 0; i < 10; ++i) lock.unlock();
        EXPECT_EQ(c.stats().reentered, 10U);
        EXPECT_TRUE(eventually(patience, [&] { return c.stats().commands_sent <= sent + 20; }));
        lock.unlock();
        EXPECT_FALSE(exists(this->server, "job"));
    }
}

TYPED_TEST(traffic, of_a_contended_lock_is_small) {
    constexpr int processes = 4;
    constexpr int times = 300 / slower;
    std::vector<std::unique_ptr<client>> all;
    std::vector<std::future<void>> work;
    for (int i = 0; i < processes; ++i) all.push_back(std::make_unique<client>(this->server.url()));
    for (auto& c : all) {
        work.push_back(in_background([&c] {
            auto lock = TypeParam::make(*c, "job");
            for (int n = 0; n < times; ++n) {
                lock.lock();
                lock.unlock();
            }
        }));
    }
    for (auto& w : work) w.get();
    client_stats sum;
    for (auto& c : all) {
        const auto s = c->stats();
        sum.acquired += s.acquired;
        sum.commands_sent += s.commands_sent;
        sum.attempts.busy += s.attempts.busy;
    }
    const double commands = static_cast<double>(sum.commands_sent) / static_cast<double>(sum.acquired);
    const double refusals = static_cast<double>(sum.attempts.busy) / static_cast<double>(sum.acquired);
    ::testing::Test::RecordProperty("commands_per_acquisition", std::to_string(commands));
    ::testing::Test::RecordProperty("refusals_per_acquisition", std::to_string(refusals));
    EXPECT_EQ(sum.acquired, static_cast<std::uint64_t>(processes) * times);
    if constexpr (std::is_same_v<TypeParam, plain>) {
        EXPECT_LE(commands, 4.2);
        EXPECT_LE(refusals, 1.2);  // the bid that queues a waiter is answered "busy", once
    } else {
        // A fence takes a request after the message; a recursive mutex wakes one waiter of each process.
        EXPECT_LE(commands, 8);
    }
}

}  // namespace
}  // namespace holdfast::test
