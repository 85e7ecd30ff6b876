// One multi_lock over all stores at once: a mutex of the same name on each of them.
#include "contract/lock_contract.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <atomic>

namespace holdfast::contract {
namespace {

std::vector<const store_row*> all_stores() {
    std::vector<const store_row*> all;
    for (const auto& s : subjects_for("", needs::a_lock, coverage::full))
        if (s.of == kind::native_fenced) all.push_back(s.store);
    return all;
}

// A process with a client of each store. The same process twice gives the stores in the same order.
class visitor {
  public:
    explicit visitor(const std::vector<const store_row*>& stores) {
        for (const auto* const store : stores) {
            config how;
            how.url = store->url();
            clients_.push_back(std::make_unique<client>(how));
            locks_.push_back(
                std::make_unique<mutex>(*clients_.back(), "stock", mutex_options{.fenced = true}));
        }
    }
    [[nodiscard]] multi_lock all() const {
        std::vector<const leasable*> members;
        for (const auto& one : locks_) members.push_back(one.get());
        return multi_lock{members};
    }
    [[nodiscard]] std::vector<bool> free() const {
        std::vector<bool> each;
        for (const auto& one : locks_) each.push_back(static_cast<bool>(one->try_acquire()));
        return each;
    }
    [[nodiscard]] client& on(std::size_t store) const { return *clients_[store]; }
    [[nodiscard]] mutex& lock_on(std::size_t store) const { return *locks_[store]; }

  private:
    std::vector<std::unique_ptr<client>> clients_;
    std::vector<std::unique_ptr<mutex>> locks_;
};

class multi_lock_on_all_stores : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const auto* const store : stores)
            if (store->clear != nullptr) store->clear();
        one = std::make_unique<visitor>(stores);
        auto reversed = stores;
        std::reverse(reversed.begin(), reversed.end());
        other = std::make_unique<visitor>(reversed);
    }
    [[nodiscard]] std::vector<bool> every(bool free) const { return std::vector<bool>(stores.size(), free); }

    const std::vector<const store_row*> stores = all_stores();
    std::unique_ptr<visitor> one;
    std::unique_ptr<visitor> other;  // names the stores in reverse
};

TEST_F(multi_lock_on_all_stores, multi_lock_holds_a_lock_on_each_store_or_none) {
    ASSERT_GE(stores.size(), 5U);
    auto all = one->all();
    {
        const auto held = all.acquire();
        EXPECT_TRUE(held.valid());
        EXPECT_EQ(other->free(), every(false));
    }
    EXPECT_EQ(other->free(), every(true));
    for (std::size_t n = 0; n < stores.size(); ++n) {
        const auto taken = other->lock_on(stores.size() - 1 - n).acquire();
        EXPECT_FALSE(all.try_acquire());
        auto all_but_that = every(true);
        all_but_that[n] = false;
        EXPECT_EQ(one->free(), all_but_that) << "the others were released again";
    }
}

TEST_F(multi_lock_on_all_stores, multi_locks_of_two_processes_take_turns) {
    std::atomic<int> inside{0};
    std::atomic<int> turns{0};
    std::vector<std::future<void>> workers;
    for (const auto* const by : {one.get(), other.get(), one.get(), other.get()}) {
        workers.push_back(in_background([&, by] {
            auto all = by->all();
            for (int n = 0; n < 5; ++n) {
                const auto held = all.acquire();
                EXPECT_EQ(inside.fetch_add(1), 0);
                EXPECT_TRUE(held.valid());
                inside.fetch_sub(1);
                ++turns;
            }
        }));
    }
    for (auto& worker : workers) worker.get();
    EXPECT_EQ(turns, 20);
    EXPECT_EQ(one->free(), every(true));
}

TEST_F(multi_lock_on_all_stores, multi_lock_is_lost_with_the_lock_of_any_store) {
    for (std::size_t n = 0; n < stores.size(); ++n) {
        const subject here{stores[n], kind::native_fenced};
        if (!here.can().inspection) continue;
        SCOPED_TRACE(stores[n]->name);
        auto held = one->all().acquire();
        ASSERT_TRUE(evict(other->on(stores.size() - 1 - n), "stock"));
        EXPECT_TRUE(eventually(patience, [&] {
            // Without messages the next renewal or the release finds it out.
            return !held.valid() || held.release() == release_outcome::already_lost;
        }));
        EXPECT_EQ(held.release(), release_outcome::already_lost);
        EXPECT_EQ(other->free(), every(true));
    }
}

TEST_F(multi_lock_on_all_stores, async_acquire_takes_the_lock_of_each_store) {
    auto all = one->all();
    {
        const auto held = async_acquire(all, boost::asio::use_future).get();
        EXPECT_TRUE(held.valid());
        EXPECT_EQ(other->free(), every(false));
    }
    // A lease of an asynchronous acquisition is released without waiting.
    EXPECT_TRUE(eventually(patience, [&] { return other->free() == every(true); }));
}

}  // namespace
}  // namespace holdfast::contract
