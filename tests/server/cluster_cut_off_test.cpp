// A master that its clients cannot reach, while the other servers of the cluster can: no replica takes over.
#include "server/cluster_world.hpp"

namespace holdfast::test {
namespace {

class cut_off_master : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        cluster_scene::options o;
        o.wires = true;
        scene_ = std::make_unique<cluster_scene>(o);
    }
    static void TearDownTestSuite() { scene_.reset(); }
    static cluster_scene& scene() { return *scene_; }

    const std::size_t cut = scene().masters().front();
    const std::string name = scene().key_on(cut, "cut:");
    const std::string aside = scene().key_on(scene().masters().back(), "aside:");

    void TearDown() override {
        scene().wire_to(cut).stall(false);
        scene().wait_until_well();
    }

  private:
    static inline std::unique_ptr<cluster_scene> scene_;
};

TEST_F(cut_off_master, loss_is_reported_in_time_and_other_locks_stay_held) {
    client c{settings(scene().url(), 3s)};
    event_recorder events{c};
    mutex lock{c, name};
    mutex other{c, aside};
    auto held = lock.acquire();
    auto held_aside = other.acquire();
    // From now on both are renewed together.
    ASSERT_TRUE(eventually(patience, [&] { return c.stats().renewals >= 2; }));
    scene().wire_to(cut).stall(true);
    const stopwatch since;
    ASSERT_TRUE(events.has(event_kind::lost));
    EXPECT_FALSE(held.valid());
    EXPECT_LT(since.took(), 3s + slack);
    EXPECT_TRUE(held_aside.valid());
    const auto renewals = c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals > renewals; }));
    EXPECT_EQ(held_aside.release(), release_outcome::released);
    // The servers do not notice.
    EXPECT_EQ(scene().owner_of(scene().slot_of(name)), cut);
}

TEST_F(cut_off_master, its_locks_fail_in_bounded_time_and_work_again_afterwards) {
    client c{settings(scene().url())};
    mutex lock{c, name};
    mutex other{c, aside};
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
    scene().wire_to(cut).stall(true);
    const stopwatch since;
    std::error_code ec;
    EXPECT_FALSE(lock.try_acquire(ec));
    EXPECT_TRUE(ec) << "unknown, which is not no";
    EXPECT_LT(since.took(), 2 * answer_timeout + slack);
    EXPECT_TRUE(other.try_lock());
    other.unlock();
    scene().wire_to(cut).stall(false);
    // A grant that no client received is released.
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code why;
        return static_cast<bool>(lock.try_acquire(why));
    }));
}

TEST_F(cut_off_master, no_second_client_gets_a_valid_lock) {
    contest<plain> both{settings(scene().url(), 3s), name};
    ASSERT_TRUE(both.gets(20));
    scene().wire_to(cut).stall(true);
    client c{settings(scene().url())};
    mutex other{c, aside};
    mutex same{c, name};
    std::error_code ec;
    EXPECT_FALSE(same.try_acquire(ec));
    EXPECT_TRUE(ec);
    EXPECT_TRUE(other.try_lock());
    other.unlock();
    scene().wire_to(cut).stall(false);
    EXPECT_TRUE(both.gets(20)) << both.errors();
    both.end();
    EXPECT_EQ(both.overlaps(), 0);
}

}  // namespace
}  // namespace holdfast::test
