// config::keep_evicted: an evicted lock stays held until all work under it has stopped.
#include "server/evict_scene.hpp"

#include <memory>

namespace holdfast::test {
namespace {

using way = evicted_holder::way;

config keeping_evicted(const redis_server& server) {
    auto s = settings(server.url());
    s.keep_evicted = true;
    return s;
}

TYPED_TEST_SUITE(evict_kinds, all_kinds, kind_names);

TYPED_TEST(evict_kinds, holder_with_keep_evicted_stops_before_the_lock_is_free) {
    client slow{keeping_evicted(this->server)};
    this->make_listen(slow);
    auto lock = TypeParam::make(slow, "job");
    lease held = lock.acquire();
    auto end = in_background([&] { return evict(this->operators, "job", unhurried); });
    ASSERT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(exists(this->server, "job")) << "it is still at work";
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_EQ(end.get().from.at(0).how, way::gave_up);
    EXPECT_TRUE(TypeParam::make(this->operators, "job").try_acquire());
}

TYPED_TEST(evict_kinds, holder_with_keep_evicted_that_takes_too_long_is_removed) {
    client slow{keeping_evicted(this->server)};
    this->make_listen(slow);
    auto lock = TypeParam::make(slow, "job");
    lease held = lock.acquire();
    const auto end = evict(this->operators, "job");
    EXPECT_FALSE(held.valid());
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::silent);
    EXPECT_GT(end.from[0].may_go_on, 0ms);
    EXPECT_FALSE(exists(this->server, "job"));
    auto other = TypeParam::make(this->operators, "job").try_acquire();
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(other.valid()) << "a late release leaves the new holder its lock";
}

TEST_F(evict_test, kept_lock_is_free_after_the_last_nested_release) {
    client slow{keeping_evicted(server)};
    make_listen(slow);
    recursive_mutex lock{slow, "job"};
    lease outer = lock.acquire();
    lease inner = lock.acquire(outer);
    auto end = in_background([&] { return evict(operators, "job", unhurried); });
    ASSERT_TRUE(eventually(patience, [&] { return outer.lost_token().stop_requested(); }));
    EXPECT_EQ(inner.release(), release_outcome::already_lost);
    (void)inspect(slow, "job");  // after whatever it has sent
    EXPECT_TRUE(exists(server, "job")) << "the outer work goes on";
    EXPECT_EQ(outer.release(), release_outcome::already_lost);
    EXPECT_EQ(end.get().from.at(0).how, way::gave_up);
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_test, kept_lock_is_free_when_a_writer_neither_writes_nor_reads) {
    client slow{keeping_evicted(server)};
    make_listen(slow);
    shared_mutex lock{slow, "job"};
    lease writes = lock.acquire();
    lease reads = lock.acquire_shared(writes);
    auto end = in_background([&] { return evict(operators, "job", unhurried); });
    ASSERT_TRUE(eventually(patience, [&] { return writes.lost_token().stop_requested(); }));
    EXPECT_EQ(writes.release(), release_outcome::already_lost);
    (void)inspect(slow, "job");  // after whatever it has sent
    EXPECT_TRUE(exists(server, "job")) << "it reads";
    EXPECT_EQ(reads.release(), release_outcome::already_lost);
    for (const auto& h : end.get().from) EXPECT_EQ(h.how, way::gave_up);
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_test, kept_lock_is_free_when_the_client_ends) {
    auto slow = std::make_unique<client>(keeping_evicted(server));
    make_listen(*slow);
    auto lock = std::make_unique<mutex>(*slow, "job");
    const lease held = lock->acquire();
    auto end = in_background([&] { return evict(operators, "job", unhurried); });
    ASSERT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    lock.reset();
    slow.reset();
    EXPECT_EQ(end.get().from.at(0).how, way::gave_up);
    EXPECT_FALSE(exists(server, "job"));
}

TEST(evict_local, holder_with_keep_evicted_stops_before_the_lock_is_free) {
    auto slowly = settings("local:evict");
    slowly.keep_evicted = true;
    client one{slowly};
    client two{settings("local:evict")};
    mutex lock{one, "job"};
    lease held = lock.acquire();
    auto end = in_background([&] { return evict(two, "job", unhurried); });
    ASSERT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_FALSE(mutex(two, "job").try_acquire());
    held.release();
    EXPECT_EQ(end.get().from.at(0).how, way::gave_up);
    EXPECT_TRUE(mutex(two, "job").try_acquire());
}

}  // namespace
}  // namespace holdfast::test
