// A server whose memory is full, or that drops keys when it is (hazards 28 and 29).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class full_memory : public ::testing::Test {
  protected:
    void fill() { EXPECT_EQ(server.command({"CONFIG", "SET", "maxmemory", "1"}).text, "OK"); }
    void make_room() { EXPECT_EQ(server.command({"CONFIG", "SET", "maxmemory", "0"}).text, "OK"); }

    using lock_type = std::remove_reference_t<decltype(Kind::make(std::declval<client&>(), ""))>;
    redis_server server;
    client c{settings(server.url(), 600ms * slower)};
    client d{settings(server.url(), 600ms * slower)};
    lock_type lock = Kind::make(c, "job");
    lock_type others = Kind::make(d, "job");
};
TYPED_TEST_SUITE(full_memory, all_kinds, kind_names);

TYPED_TEST(full_memory, refuses_a_new_lock_with_its_own_error) {
    this->fill();
    EXPECT_EQ(code_of([&] { (void)this->lock.try_lock(); }), errc::out_of_memory);
    try {
        this->lock.lock();
        ADD_FAILURE() << "locked without memory";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::out_of_memory);
        EXPECT_EQ(e.code(), condition::try_later);
        EXPECT_NE(e.server_text().find("OOM"), std::string::npos) << e.server_text();
    }
    EXPECT_FALSE(exists(this->server, "job"));
    this->make_room();
    EXPECT_TRUE(this->lock.try_lock());
    this->lock.unlock();
}

TYPED_TEST(full_memory, lets_a_held_lock_be_renewed_and_released) {
    lease held = this->lock.acquire();
    this->fill();
    const auto renewals = this->c.stats().renewals;
    EXPECT_TRUE(
        eventually(patience, [&] { return this->c.stats().renewals >= renewals + 4; }));  // beyond the lease
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_FALSE(exists(this->server, "job"));
}

// A recursive mutex has no queue: its waiter must acquire it anew, which needs memory.
template <class Kind>
class full_memory_and_a_queue : public full_memory<Kind> {};
TYPED_TEST_SUITE(full_memory_and_a_queue, native_kinds, kind_names);

TYPED_TEST(full_memory_and_a_queue, serves_clients_that_waited_before) {
    lease held = this->lock.acquire();
    auto waiter = waiter_for(this->others);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    this->fill();
    EXPECT_EQ(held.release(), release_outcome::released);
    lease got = waiter.get();
    EXPECT_TRUE(got.valid());
    EXPECT_EQ(got.release(), release_outcome::released);
}

TYPED_TEST(full_memory, admits_new_waiters_when_there_is_room_again) {
    lease held = this->lock.acquire();
    this->fill();
    if constexpr (std::is_same_v<TypeParam, plain>) {
        // SET NX is refused before the server looks at the key, so "busy" looks like "no room".
        EXPECT_EQ(code_of([&] { (void)this->others.try_lock(); }), errc::out_of_memory);
        this->make_room();
    } else {
        EXPECT_FALSE(this->others.try_lock());
    }
    auto waiter = waiter_for(this->others);
    EXPECT_FALSE(ready(waiter, 100ms));
    this->make_room();
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(waiter.get().valid());
}

// A client that is in the queue already is refused when it asks again, but memory may become free.
TYPED_TEST(full_memory, does_not_end_a_wait_that_exceeds_the_patience) {
    auto how = settings(this->server.url(), 600ms);
    how.patience = 100ms;
    how.poll_gap = 20ms;
    client e{how};
    auto theirs = TypeParam::make(e, "job");
    lease held = this->lock.acquire();
    auto waiter = waiter_for(theirs);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    this->fill();
    const auto asked = e.stats().commands_sent;
    EXPECT_TRUE(eventually(patience, [&] { return ready(waiter) || e.stats().commands_sent >= asked + 30; }));
    EXPECT_FALSE(ready(waiter));
    this->make_room();
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(waiter.get().valid());
}

TEST(eviction, is_reported_as_a_risk) {
    redis_server server{{.config = {"maxmemory-policy volatile-lru"}}};
    client c{server.url()};
    event_recorder events{c};
    mutex lock{c, "job"};
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
    EXPECT_TRUE(events.has(event_kind::eviction_risk));
}

}  // namespace
}  // namespace holdfast::test
