// While one thread of a client asks the store, a try by another thread fails without a request.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class concurrent_try : public ::testing::Test {
  protected:
    redis_server server;
    fault_proxy proxy{server};
};
TYPED_TEST_SUITE(concurrent_try, native_kinds, kind_names);

TYPED_TEST(concurrent_try, fails_without_a_request_while_another_thread_asks) {
    client c{settings(this->proxy.url())};
    auto lock = TypeParam::make(c, "job");
    { const auto known = lock.acquire(); }  // opens the connections and loads the scripts
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
