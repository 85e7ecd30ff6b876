// One allocation of a caller fails, or all from then on, while it uses a lock in ZooKeeper: an error comes
// back, no node stays, and nobody waits for what will never come.
#include "regress/failing_allocations.hpp"
#include "server/fake_zookeeper.hpp"
#include "server/zookeeper_scene.hpp"

#include <new>
#include <optional>

namespace holdfast::test {
namespace {

class zookeeper_without_memory : public ::testing::TestWithParam<failure> {
  protected:
    zookeeper_without_memory() {
        server.create("/locks");
        server.grant(2'000 * slower);  // so that it is proved often
        auto how = settings_for(server.url(), 30s);
        how.close_timeout = 1min;
        c = std::make_unique<client>(how);
    }
    // Afterwards nothing of the client's is on its way, or this would take a minute.
    void TearDown() override {
        const auto began = boot_clock::now();
        c.reset();
        EXPECT_LT(boot_clock::now() - began, 30s);
    }

    template <class Work>
    int each_failure(Work work) {
        return test::each_failure(
            GetParam(),
            [&] {
                try {
                    work();
                } catch (const std::bad_alloc&) {
                } catch (const error& e) {
                    with_memory([&] {
                        EXPECT_TRUE(e.code() == errc::out_of_memory || e.code() == errc::unknown_outcome)
                            << e.what();
                    });
                }
            },
            [&] {
                if (HasFailure()) return;
                EXPECT_TRUE(eventually(20s * slower, [&] { return nodes().empty(); }));
            });
    }
    [[nodiscard]] std::vector<std::string> nodes() const {
        auto all = server.children("/locks/stock");
        std::erase_if(all, [](const std::string& name) { return name == "locks" || name == "leases"; });
        for (const char* const of_permits : {"/locks/stock/locks", "/locks/stock/leases"})
            for (auto& name : server.children(of_permits)) all.push_back(std::move(name));
        return all;
    }

    fake_zookeeper server;
    std::unique_ptr<client> c;
};
INSTANTIATE_TEST_SUITE_P(, zookeeper_without_memory,
                         ::testing::Values(failure::of_one_allocation, failure::of_all_from_then_on),
                         [](const auto& which) {
                             return which.param == failure::of_one_allocation ? "one" : "all";
                         });

TEST_P(zookeeper_without_memory, an_acquisition_leaves_nothing_behind) {
    mutex stock{*c, "stock"};
    EXPECT_GT(each_failure([&] { (void)stock.try_acquire(); }), 5);
    EXPECT_TRUE(stock.try_acquire());
}

TEST_P(zookeeper_without_memory, a_release_leaves_nothing_behind) {
    mutex stock{*c, "stock"};
    EXPECT_GT(each_failure([&] {
                  std::optional<lease> held;
                  with_memory([&] { held = stock.acquire(); });
                  (void)held->release();
              }),
              5);
    EXPECT_TRUE(stock.try_acquire());
}

TEST_P(zookeeper_without_memory, a_waiter_leaves_nothing_behind) {
    const auto another = std::make_unique<client>(settings_for(server.url(), 30s));
    std::optional<lease> held;
    mutex stock{*c, "stock"};
    mutex of_another{*another, "stock"};
    EXPECT_GT(each_failure([&] {
                  with_memory([&] { held = of_another.acquire(); });
                  try {
                      (void)stock.try_acquire_for(20ms);
                  } catch (...) {
                      with_memory([&] { held.reset(); });
                      throw;
                  }
                  with_memory([&] { held.reset(); });
              }),
              5);
    EXPECT_TRUE(stock.try_acquire());
}

}  // namespace
}  // namespace holdfast::test
