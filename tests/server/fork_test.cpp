// fork() while a lock is held: it stays the parent's (hazard 40).
#include "server/scene.hpp"
#include "support/forked.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class forked : public ::testing::Test {
  protected:
    using lock_type = std::remove_reference_t<decltype(Kind::make(std::declval<client&>(), ""))>;
    redis_server server;
    std::unique_ptr<client> c = std::make_unique<client>(settings(server.url(), 4s));
    std::unique_ptr<lock_type> lock{new lock_type(Kind::make(*c, "job"))};
};
TYPED_TEST_SUITE(forked, all_kinds, kind_names);

TYPED_TEST(forked, child_holds_nothing_and_its_end_releases_nothing) {
    lease held = this->lock->acquire();
    auto by_thread = TypeParam::make(*this->c, "by thread");
    by_thread.lock();
    // A plain fork: the child has the parent's descriptors, and must not disturb what goes over them.
    const int wrong = in_forked_child([&] {
        if (held.valid()) return 1;
        if (by_thread.valid() || by_thread.held_by_this_thread()) return 2;
        if (held.release() != release_outcome::already_lost) return 3;
        if (code_of([&] { (void)this->lock->try_lock(); }) != errc::forked) return 4;
        if (code_of([&] { (void)TypeParam::make(*this->c, "another"); }) != errc::forked) return 5;
        by_thread.unlock();
        held = lease{};
        this->lock.reset();
        this->c.reset();
        return 0;
    });
    EXPECT_EQ(wrong, 0);

    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(by_thread.valid());
    EXPECT_EQ(TypeParam::holder(this->server, "job"), held.owner().str());
    // The connection works as before: renewals go on beyond the lease.
    const auto renewals = this->c->stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return this->c->stats().renewals >= renewals + 7; }));
    EXPECT_EQ(this->c->stats().renewals_failed, 0U);
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
    by_thread.unlock();
    EXPECT_FALSE(exists(this->server, "by thread"));
}

// A child may make its own client. (Thread sanitizer supports no new threads after fork.)
#if !defined(__SANITIZE_THREAD__)
TYPED_TEST(forked, child_with_its_own_client_is_excluded) {
    lease held = this->lock->acquire();
    auto child = child_process::fork_call([&](const parent_link& parent) {
        client mine{this->server.url()};
        auto same = TypeParam::make(mine, "job");
        parent.report(same.try_lock() ? "locked" : "busy");
        lease got = same.try_acquire_for(patience);
        parent.report(got.valid() ? "mine" : "not mine");
        return got.release() ? 0 : 1;
    });
    EXPECT_TRUE(child.wait_for_output("busy\n", patience)) << child.errors();
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(child.wait_for_output("mine\n", patience)) << child.errors();
    EXPECT_EQ(child.wait(patience), 0);
}
#endif

}  // namespace
}  // namespace holdfast::test
