// Slots that move from one server to another while their locks are held and waited for.
#include "server/cluster_world.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class moving_slot : public cluster_world {
  protected:
    // A slot of its own for each test; all keys of the lock are in it.
    void SetUp() override {
        name = std::string{::testing::UnitTest::GetInstance()->current_test_info()->name()} + ":" +
               std::to_string(++serial);
        slot = scene().slot_of(name);
        to = scene().another_master(slot);
    }
    // At a fair lock a client listens before it is in the queue, so that is checked as well.
    [[nodiscard]] bool has_a_waiter() {
        if (!waits_in(scene(), name)) return false;
        if (!std::is_same_v<Kind, fair>) return true;
        return eventually(patience, [&] { return fair::waiters(scene().master_of(name), name) > 0; });
    }
    [[nodiscard]] bool is_at_new_owner() {
        return scene().server(to).command({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}).number > 0;
    }

    std::string name;
    std::uint16_t slot = 0;
    std::size_t to = 0;

  private:
    static inline int serial = 0;
};
TYPED_TEST_SUITE(moving_slot, all_kinds, kind_names);

// One client holds the lock, another waits for it.
template <class Kind>
struct held_and_waited_for {
    held_and_waited_for(const config& how, const std::string& name)
        : a{how}, b{how}, mine{Kind::make(a, name)}, theirs{Kind::make(b, name)} {}

    using lock = decltype(Kind::make(std::declval<client&>(), {}));
    client a, b;
    lock mine, theirs;
    lease held = mine.acquire();
    std::future<lease> waiting = waiter_for(theirs);
};

TYPED_TEST(moving_slot, is_followed_with_an_old_slot_map) {
    client c{this->usual()};
    auto lock = TypeParam::make(c, this->name);
    ASSERT_TRUE(lock.try_lock());
    this->scene().move(this->slot, this->to);
    // The release goes to the old owner first.
    lock.unlock();
    EXPECT_FALSE(this->scene().exists(this->name));
    EXPECT_TRUE(lock.try_lock());
    EXPECT_TRUE(this->is_at_new_owner());
    lock.unlock();
}

TYPED_TEST(moving_slot, free_lock_is_acquired_at_the_new_owner_during_the_move) {
    client c{this->usual()};
    auto other = TypeParam::make(c, this->name + ":warm");
    ASSERT_TRUE(other.try_lock());
    other.unlock();
    this->scene().begin_move(this->slot, this->to);
    auto lock = TypeParam::make(c, this->name);
    std::error_code ec;
    auto held = lock.try_acquire(ec);
    if (held) {
        EXPECT_TRUE(this->is_at_new_owner());
        EXPECT_EQ(held.release(), release_outcome::released);
    } else {
        // It has several keys, and a server that has none of them yet rejects them together.
        EXPECT_FALSE((std::is_same_v<TypeParam, plain> || std::is_same_v<TypeParam, recursive>));
        EXPECT_EQ(ec, condition::try_later);
    }
    this->scene().move_keys(this->slot, this->to);
    this->scene().end_move(this->slot, this->to);
    EXPECT_TRUE(lock.try_acquire());
}

// A lock with several keys cannot be acquired while its slot moves.
TYPED_TEST(moving_slot, new_waiter_gets_the_lock_when_the_move_ends) {
    client c{this->usual()};
    auto lock = TypeParam::make(c, this->name);
    this->scene().begin_move(this->slot, this->to);
    auto waiting = waiter_for(lock);
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().attempts.refused > 0 || ready(waiting); }));
    this->scene().move_keys(this->slot, this->to);
    this->scene().end_move(this->slot, this->to);
    ASSERT_TRUE(ready(waiting, patience));
    EXPECT_TRUE(waiting.get().valid());
}

// The lock's own key is on one server, its other keys are on the other.
TYPED_TEST(moving_slot, held_lock_stays_held_and_its_waiter_gets_it) {
    held_and_waited_for<TypeParam> lock{this->usual(6s), this->name};
    auto& held = lock.held;
    auto& waiting = lock.waiting;
    event_recorder events{lock.a};
    ASSERT_TRUE(this->has_a_waiter());
    this->scene().begin_move(this->slot, this->to);
    this->scene().move_key(this->name, this->to);
    // Renewed there, several times.
    const auto before = lock.a.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return lock.a.stats().renewals >= before + 2; }));
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(ready(waiting));
    if (std::is_same_v<TypeParam, plain>) {
        // Its release and its waiter do not need the queue.
        EXPECT_EQ(held.release(), release_outcome::released);
        EXPECT_TRUE(ready(waiting, patience));
        this->scene().move_keys(this->slot, this->to);
        this->scene().end_move(this->slot, this->to);
    } else {
        this->scene().move_keys(this->slot, this->to);
        this->scene().end_move(this->slot, this->to);
        EXPECT_TRUE(held.valid());
        EXPECT_EQ(held.release(), release_outcome::released);
        ASSERT_TRUE(ready(waiting, patience));
    }
    EXPECT_TRUE(waiting.get().valid());
    EXPECT_EQ(events.count(event_kind::lost), 0u);
}

// All its keys are still on the old owner. A script that removes one of them and names it again is aborted at
// that point, and what it has done stays done.
TYPED_TEST(moving_slot, lock_is_released_at_the_old_owner) {
    held_and_waited_for<TypeParam> lock{this->usual(), this->name};
    ASSERT_TRUE(this->has_a_waiter());
    this->scene().begin_move(this->slot, this->to);
    EXPECT_EQ(lock.held.release(), release_outcome::released);
    this->scene().move_keys(this->slot, this->to);
    this->scene().end_move(this->slot, this->to);
    ASSERT_TRUE(ready(lock.waiting, patience));
    EXPECT_TRUE(lock.waiting.get().valid());
}

// A test of the test support, whose fault once ended a chaos run.
TEST_F(cluster_world, owner_that_one_server_does_not_know_yet_is_waited_for) {
    const auto owner = scene().masters().back();
    ASSERT_NE(owner, 0U) << "the first one is asked";
    const auto slot = scene().slot_of(scene().key_on(owner, "job"));
    // It learns of the owner again from the owner's next message.
    ASSERT_EQ(scene().server(0).command({"CLUSTER", "DELSLOTS", std::to_string(slot)}).text, "OK");
    EXPECT_EQ(scene().owner_of(slot), owner);
    scene().wait_until_well();
}

// One of two permits has expired, so the other is the last.
TEST_F(cluster_world, permits_are_released_at_the_old_owner) {
    client c{usual()};
    const std::string name = "permits";
    permit_semaphore permits{c, name, {.total = 3}};
    auto held = permits.acquire({.permits = 2});
    const auto slot = scene().slot_of(name);
    const auto to = scene().another_master(slot);
    auto& leaves = scene().master_of(name);
    const auto out = leaves.command({"ZRANGE", "{permits}:timeout", "0", "-1"});
    ASSERT_EQ(out.items.size(), 2u);
    leaves.command({"ZREM", "{permits}:timeout", out.items[1].text});
    leaves.command({"INCR", name});
    scene().begin_move(slot, to);
    EXPECT_EQ(held.release(), release_outcome::released);
    scene().move_keys(slot, to);
    scene().end_move(slot, to);
    EXPECT_EQ(permits.available_permits(), 3);
}

// The queue is gone and the slot moves, so the waiter asks without a queue. The hand-off was for 3 s.
TEST_F(cluster_world, handed_off_lock_is_held_as_long_as_its_lease_is_valid) {
    auto how = usual();
    how.poll_gap = 300ms;
    const std::string name = "handed";
    held_and_waited_for<plain> lock{how, name};
    ASSERT_TRUE(waits_in(scene(), name));
    const auto slot = scene().slot_of(name);
    const auto to = scene().another_master(slot);
    auto& leaves = scene().master_of(name);
    const auto queue = "holdfast:q1:{" + name + "}";
    const auto waiter = leaves.command({"ZRANGE", queue, "0", "0"}).items.at(0).text;
    scene().begin_move(slot, to);
    // Like a release whose message is lost.
    leaves.command({"SET", name, waiter, "PX", "3000"});
    leaves.command({"DEL", queue});
    ASSERT_TRUE(ready(lock.waiting, patience));
    const auto got = lock.waiting.get();
    ASSERT_TRUE(got.valid());
    EXPECT_GE(milliseconds{leaves.command({"PTTL", name}).number}, got.remaining());
    scene().move_keys(slot, to);
    scene().end_move(slot, to);
}

TYPED_TEST(moving_slot, waiters_are_woken_at_the_new_owner) {
    held_and_waited_for<TypeParam> lock{this->deaf_to_time(), this->name};
    ASSERT_TRUE(this->has_a_waiter());
    this->scene().move(this->slot, this->to);
    // It has subscribed there and asked again.
    ASSERT_TRUE(this->has_a_waiter());
    EXPECT_FALSE(ready(lock.waiting, 200ms));
    const stopwatch since;
    EXPECT_EQ(lock.held.release(), release_outcome::released);
    ASSERT_TRUE(ready(lock.waiting, patience));
    EXPECT_LT(since.took(), slack);
    EXPECT_TRUE(lock.waiting.get().valid());
}

TYPED_TEST(moving_slot, never_grants_a_lock_twice) {
    contest<TypeParam> both{this->usual(5s), this->name};
    ASSERT_TRUE(both.gets(20)) << both.errors();
    for (int round = 0; round < 4; ++round) {
        this->scene().move(this->slot, this->scene().another_master(this->slot));
        EXPECT_TRUE(both.gets(5)) << both.errors();
    }
    both.end();
    EXPECT_EQ(both.overlaps(), 0);
}

// Some of the locks of one slot have moved, the others have not.
TYPED_TEST(moving_slot, renewals_go_to_both_owners) {
    client c{this->usual(slower > 1 ? 10s : 4s)};
    event_recorder events{c};
    std::vector<lease> held;
    std::vector<std::string> names;
    for (int i = 0; i < 10; ++i) {
        names.push_back(this->name + ":{" + this->name + "}" + std::to_string(i));
        auto lock = TypeParam::make(c, names.back());
        held.push_back(lock.acquire());
    }
    this->scene().begin_move(this->slot, this->to);
    for (int i = 0; i < 5; ++i) this->scene().move_key(names[static_cast<std::size_t>(i)], this->to);
    const auto before = c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals >= before + 40; }));
    this->scene().move_keys(this->slot, this->to);
    this->scene().end_move(this->slot, this->to);
    for (auto& h : held) {
        EXPECT_TRUE(h.valid());
        EXPECT_EQ(h.release(), release_outcome::released);
    }
    EXPECT_EQ(events.count(event_kind::lost), 0u);
}

}  // namespace
}  // namespace holdfast::test
