// A process that dies or is stopped while it holds a lock (hazards 4 and 42).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

constexpr milliseconds lease_time = 2s;

// Holds "job" and reports so; when it receives a line, it looks at its lease and reports what it sees.
template <class Kind>
child_process owner_process(const std::string& url) {
    return child_process::fork_call([url](const parent_link& parent) {
        client c{settings(url, lease_time)};
        auto lock = Kind::make(c, "job");
        lease held = lock.acquire();
        parent.report("held");
        (void)parent.await_line();
        parent.report(held.valid() ? "valid" : "not valid");
        parent.report(eventually(patience, [&] { return held.lost_token().stop_requested(); }) ? "lost"
                                                                                               : "not lost");
        parent.report(held.release() == release_outcome::already_lost ? "already lost" : "another outcome");
        return 0;
    });
}

template <class Kind>
class owner_process_test : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(owner.wait_for_output("held\n", patience)) << owner.errors(); }

    redis_server server;
    child_process owner = owner_process<Kind>(server.url());
};
TYPED_TEST_SUITE(owner_process_test, all_kinds, kind_names);

TYPED_TEST(owner_process_test, killed_while_holding_frees_the_lock_within_its_lease) {
    client c{this->server.url()};
    auto lock = TypeParam::make(c, "job");
    auto waiter = waiter_for(lock);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));

    const stopwatch since_death;
    this->owner.kill();
    const lease got = waiter.get();
    EXPECT_TRUE(got.valid());
    EXPECT_LT(since_death.took(), lease_time + 1s + slack);  // a poll gap
}

TYPED_TEST(owner_process_test, killed_while_holding_leaves_a_lock_that_expires) {
    this->owner.kill();
    EXPECT_NE(pttl(this->server, "job"), -1ms) << "it never expires";
    EXPECT_TRUE(eventually(patience, [&] { return !exists(this->server, "job"); }));
}

TYPED_TEST(owner_process_test, stopped_beyond_its_lease_knows_at_once_and_harms_no_holder) {
    client c{this->server.url()};
    auto lock = TypeParam::make(c, "job");
    this->owner.pause();
    lease got = lock.try_acquire_for(patience);
    ASSERT_TRUE(got.valid());

    this->owner.write("look\n");  // so that this is the first thing that it does
    this->owner.resume();
    EXPECT_TRUE(this->owner.wait_for_output("not valid\nlost\nalready lost\n", patience))
        << this->owner.output() << this->owner.errors();
    EXPECT_EQ(this->owner.wait(patience), 0);

    EXPECT_TRUE(got.valid());
    EXPECT_EQ(TypeParam::holder(this->server, "job"), got.owner().str());
    EXPECT_EQ(got.release(), release_outcome::released);
}

}  // namespace
}  // namespace holdfast::test
