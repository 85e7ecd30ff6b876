// Locks in a Galera cluster, whose nodes carry out statements on their own and agree at each commit.
#ifdef HOLDFAST_HAS_MARIADB

#include "server/sql_scene.hpp"
#include "support/background.hpp"
#include "support/eventually.hpp"
#include "support/galera_cluster.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class galera_locks : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!galera_cluster::available()) GTEST_SKIP() << "Debian's package galera-4 is missing";
        cluster = std::make_unique<galera_cluster>();
        for (std::size_t n = 0; n < cluster->size(); ++n)
            clients.push_back(std::make_unique<client>(sql_settings(cluster->node(n).url(), 2s)));
    }
    [[nodiscard]] client& at(std::size_t node) { return *clients.at(node); }

    std::unique_ptr<galera_cluster> cluster;
    std::vector<std::unique_ptr<client>> clients;
};

TEST_F(galera_locks, exclude_each_other_on_all_nodes) {
    std::atomic<int> inside = 0;
    std::atomic<int> turns = 0;
    std::atomic<fence> last = fence::none;
    std::vector<std::future<void>> workers;
    for (std::size_t n = 0; n < 6; ++n) {
        workers.push_back(in_background([&, n] {
            mutex stock{at(n % cluster->size()), "stock", {.fenced = true}};
            for (int i = 0; i < 20; ++i) {
                const auto held = stock.acquire();
                EXPECT_EQ(inside++, 0);
                EXPECT_GT(held.fence(), last.exchange(held.fence()));
                ++turns;
                --inside;
            }
        }));
    }
    for (auto& worker : workers) worker.get();
    EXPECT_EQ(turns, 120);
}

TEST_F(galera_locks, are_seen_and_evicted_at_another_node) {
    auto held = mutex(at(0), "stock").acquire();
    EXPECT_FALSE(mutex(at(1), "stock").try_acquire());
    const auto seen = admin::inspect(at(2), "stock");
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].client, presence::unknown) << "a node knows its own sessions only";
    EXPECT_EQ(admin::evict(at(2), "stock").from.size(), 1U);
    EXPECT_TRUE(mutex(at(1), "stock").try_acquire());
    EXPECT_EQ(held.release(), release_outcome::already_lost);
}

TEST_F(galera_locks, of_a_killed_node_are_free_when_their_time_is_over) {
    const auto held = mutex(at(2), "stock").acquire();
    cluster->node(2).stop();
    const auto next = mutex(at(0), "stock").try_acquire_for(patience);
    EXPECT_TRUE(next.valid());
    EXPECT_FALSE(held.valid());
}

TEST_F(galera_locks, are_refused_by_a_node_without_a_quorum) {
    mutex stock{at(0), "stock"};
    EXPECT_TRUE(stock.try_acquire());
    for (const std::size_t n : {1U, 2U}) cluster->node(n).stop();
    std::string says;
    EXPECT_TRUE(eventually(patience, [&] {
        try {
            return static_cast<bool>(stock.try_acquire()) && false;
        } catch (const error& e) {
            says = e.what();
            return says.find("this node of the cluster has no quorum") != std::string::npos;
        }
    })) << says;
}

}  // namespace
}  // namespace holdfast::test

#endif
