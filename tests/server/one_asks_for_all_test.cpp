// A try beside a thread of the same client that is just asking: "no" without a word to the store.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class one_asks_for_all : public ::testing::Test {
  protected:
    redis_server server;
    fault_proxy proxy{server};
};
TYPED_TEST_SUITE(one_asks_for_all, native_kinds, kind_names);

TYPED_TEST(one_asks_for_all, a_try_beside_another_thread_that_asks_is_no_and_asks_nothing) {
    client c{settings(this->proxy.url())};
    auto lock = TypeParam::make(c, "job");
    { const auto known = lock.acquire(); }  // so that connections and scripts are there
    this->proxy.hold_reply_of(TypeParam::look());
    auto first = in_background([&] { return lock.try_acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return this->proxy.count().replies_held == 1; }));

    const auto asked = this->proxy.count_of(TypeParam::look());
    std::error_code ec;
    EXPECT_FALSE(lock.try_acquire(ec));
    EXPECT_FALSE(ec) << ec.message();
    EXPECT_EQ(this->proxy.count_of(TypeParam::look()), asked);

    this->proxy.release_replies();
    EXPECT_TRUE(first.get());
}

}  // namespace
}  // namespace holdfast::test
