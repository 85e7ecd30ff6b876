// Locks that are gone leave no keys, channels, threads or connections behind.
#include "server/scene.hpp"

#include <fstream>
#include <latch>

namespace holdfast::test {
namespace {

std::size_t resident_kib() {
    std::ifstream file{"/proc/self/statm"};
    std::size_t pages = 0;
    file >> pages >> pages;
    return pages * 4;
}

template <class Kind>
class leftovers : public ::testing::Test {
  protected:
    void expect_clean() {
        const auto keys = server.keys();
        EXPECT_TRUE(
            std::all_of(keys.begin(), keys.end(), [](const auto& k) { return k.starts_with("holdfast:f"); }))
            << keys.size() << " keys, the first is " << keys.front();
    }
    std::size_t lock_channels() {
        std::size_t n = 0;
        for (const auto& c : server.command({"PUBSUB", "CHANNELS"}).items)
            n += c.text.starts_with("holdfast:wake:") ? 0 : 1;
        return n;
    }

    redis_server server;
};
TYPED_TEST_SUITE(leftovers, all_kinds, kind_names);

TYPED_TEST(leftovers, uncontended_locks_leave_nothing_behind) {
    constexpr std::size_t threads = 8;
    constexpr int each = 100'000 / 3 / static_cast<int>(threads) / slower;
    client c{this->server.url()};
    const auto work = [&](int count) {
        std::vector<std::future<void>> all;
        for (std::size_t i = 0; i < threads; ++i) {
            all.push_back(in_background([&, i] {
                auto lock = TypeParam::make(c, "job" + std::to_string(i));
                for (int n = 0; n < count; ++n) {
                    lock.lock();
                    lock.unlock();
                }
            }));
        }
        for (auto& a : all) a.get();
    };
    work(each / 10 + 1);
    const auto threads_before = count_threads();
    const auto fds_before = count_open_fds();
    const auto memory_before = resident_kib();
    work(each);
    EXPECT_TRUE(eventually(patience, [&] { return count_threads() <= threads_before; }));
    EXPECT_TRUE(eventually(patience, [&] { return count_open_fds() <= fds_before; }));
    if (slower == 1) {
        EXPECT_LT(resident_kib(), memory_before + 4096);
    }
    EXPECT_EQ(c.stats().held_now, 0U);
    EXPECT_EQ(c.stats().released, c.stats().acquired);
    EXPECT_TRUE(eventually(patience, [&] { return this->lock_channels() == 0; }));
    this->expect_clean();
    // Each lock with fences keeps the key of its fences; other locks keep no key.
    EXPECT_EQ(this->server.keys().size(), (std::is_same_v<TypeParam, fenced>) ? threads : 0U);
}

TYPED_TEST(leftovers, contended_locks_leave_nothing_behind) {
    constexpr int cycles = 20'000 / 3 / slower;
    {
        client c{this->server.url()};
        client d{this->server.url()};
        std::latch start{2};
        std::vector<std::future<std::uint64_t>> both;
        for (auto* mine : {&c, &d}) {
            both.push_back(in_background([mine, &start] {
                auto lock = TypeParam::make(*mine, "job");
                start.arrive_and_wait();
                for (int n = 0; n < cycles / 2; ++n) {
                    lock.lock();
                    lock.unlock();
                }
                return mine->stats().attempts.busy;
            }));
        }
        std::uint64_t waited = 0;
        for (auto& b : both) waited += b.get();
        EXPECT_GT(waited, 10U) << "no client had to wait";
        EXPECT_TRUE(eventually(patience, [&] { return this->lock_channels() == 0; }));
        EXPECT_EQ(this->server.command({"PUBSUB", "NUMPAT"}).number, 0);
        EXPECT_LE(this->server.command({"PUBSUB", "CHANNELS"}).items.size(), 2U);  // the wake channels
        this->expect_clean();
    }
    EXPECT_TRUE(eventually(patience, [&] {
        return this->server.command({"PUBSUB", "CHANNELS"}).items.empty();
    }));
}

// A client waits and gives up, again and again.
TYPED_TEST(leftovers, timed_out_waits_leave_nothing_behind) {
    client c{this->server.url()};
    client d{this->server.url()};
    auto first = TypeParam::make(c, "job");
    auto lock = TypeParam::make(d, "job");
    {
        lease held = first.acquire();
        // On a machine that stalls for a moment the store may not answer in time.
        for (int i = 0; i < 2000 / slower; ++i)
            (void)code_of([&] { EXPECT_FALSE(lock.try_lock_for(std::chrono::microseconds{1 + i % 500})); });
        EXPECT_TRUE(eventually(patience, [&] { return TypeParam::waiters(this->server, "job") == 0; }));
        EXPECT_TRUE(held.valid());
        EXPECT_EQ(TypeParam::holder(this->server, "job"), held.owner().str());
    }
    EXPECT_TRUE(eventually(patience, [&] { return !exists(this->server, "job"); }));
    EXPECT_TRUE(eventually(patience, [&] { return this->lock_channels() == 0; }));
    this->expect_clean();
}

}  // namespace
}  // namespace holdfast::test
