// What the stores share: the numbers of owners, the waiters, and who has given up.
#include "backends/common/confirmed_evictions.hpp"
#include "backends/common/owner_serials.hpp"
#include "backends/common/waiter_registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using backend::kind;
using backend::lock_key;
using backend::watch_event;
using backends::waiter_registry;

TEST(owner_serials, are_unique_over_threads_and_grow) {
    backends::owner_serials serials;
    std::vector<std::vector<std::int64_t>> drawn(4);
    {
        std::vector<std::jthread> threads;
        for (auto& mine : drawn) {
            threads.emplace_back([&mine, &serials] {
                for (int i = 0; i < 1'000; ++i) mine.push_back(serials.next());
            });
        }
    }
    std::set<std::int64_t> all;
    for (const auto& mine : drawn) {
        EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
        all.insert(mine.begin(), mine.end());
    }
    EXPECT_EQ(all.size(), 4'000U);
}

TEST(confirmed_evictions, knows_only_owners_that_were_expected) {
    backends::confirmed_evictions evictions;
    evictions.confirm("a");
    EXPECT_FALSE(evictions.is_confirmed("a"));
    evictions.expect("a");
    EXPECT_FALSE(evictions.is_confirmed("a"));
    evictions.confirm("a");
    EXPECT_TRUE(evictions.is_confirmed("a"));
    evictions.expect("a");
    EXPECT_TRUE(evictions.is_confirmed("a")) << "asked a second time";
    EXPECT_FALSE(evictions.is_confirmed("b"));
}

class waiters : public ::testing::Test {
  protected:
    [[nodiscard]] waiter_registry::receiver counting(int& events) {
        return std::make_shared<backend::handler<watch_event>>([&events](const watch_event&) { ++events; });
    }
    [[nodiscard]] auto add(const lock_key& key, const char* owner, int& events) {
        return waiter_registry::add(registry, key, owner_id{owner}, counting(events));
    }
    static void send(const waiter_registry::receiver& to) { (*to)({watch_event::change::woken, {}}); }

    const std::shared_ptr<waiter_registry> registry = std::make_shared<waiter_registry>();
    const lock_key stock{kind::native, lock_name{"stock"}};
};

TEST_F(waiters, are_found_until_their_handle_is_destroyed) {
    int events = 0;
    EXPECT_TRUE(registry->empty());
    auto handle = add(stock, "a", events);
    ASSERT_TRUE(registry->find("a"));
    send(registry->find("a"));
    EXPECT_EQ(events, 1);
    EXPECT_FALSE(registry->find("b"));
    EXPECT_FALSE(registry->empty());
    handle.reset();
    EXPECT_FALSE(registry->find("a"));
    EXPECT_TRUE(registry->empty());
}

TEST_F(waiters, of_one_owner_are_told_apart_by_kind) {
    int reads = 0;
    int writes = 0;
    const lock_name name{"shared"};
    auto reader = add({kind::shared_read, name}, "a", reads);
    auto writer = add({kind::shared_write, name}, "a", writes);
    send(registry->find(kind::shared_write, owner_id{"a"}));
    EXPECT_EQ(writes, 1);
    EXPECT_EQ(reads, 0);
    EXPECT_FALSE(registry->find(kind::native, owner_id{"a"}));
    writer.reset();
    EXPECT_FALSE(registry->find(kind::shared_write, owner_id{"a"}));
    EXPECT_TRUE(registry->find(kind::shared_read, owner_id{"a"}));
}

TEST_F(waiters, of_a_name_are_found_without_one_owner) {
    int events = 0;
    int others = 0;
    auto a = add(stock, "a", events);
    auto b = add(stock, "b", events);
    auto elsewhere = add({kind::native, lock_name{"orders"}}, "c", others);
    for (const auto& to : registry->all_of(stock.name, owner_id{"a"})) send(to);
    EXPECT_EQ(events, 1);
    for (const auto& to : registry->all()) send(to);
    EXPECT_EQ(events, 3);
    EXPECT_EQ(others, 1);
}

// A handle may be the last that knows the registry's owner: the channel of a client, or a space.
TEST_F(waiters, keep_what_their_registry_belongs_to) {
    int events = 0;
    auto owner = std::make_shared<waiter_registry>();
    const std::weak_ptr<waiter_registry> seen = owner;
    auto handle = waiter_registry::add(owner, stock, owner_id{"a"}, counting(events));
    owner.reset();
    EXPECT_FALSE(seen.expired());
    handle.reset();
    EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace holdfast::test
