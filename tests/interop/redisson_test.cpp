// Redisson and holdfast on one lock. Each test runs for each kind that both have, with each version of
// Redisson.
#include "interop/kinds.hpp"

#include <tuple>

namespace holdfast::test {
namespace {

using version_and_kind = std::tuple<const char*, shared_kind>;

class with_redisson : public ::testing::TestWithParam<version_and_kind> {
  protected:
    const shared_kind kind = std::get<1>(GetParam());
    const std::string name = std::string{::testing::UnitTest::GetInstance()->current_test_info()->name()};
    peer& java = redisson(std::get<0>(GetParam()));
    redis_server& server = interop_server();
    client c{without_polls()};
    any_lock lock = kind.make(c, name);

    peer::request ask_java(std::string_view verb, const std::vector<long>& arguments = {},
                           std::string_view thread = "a") {
        return java.ask(thread, verb, kind.java, name, arguments);
    }
    std::string tell_java(std::string_view verb, const std::vector<long>& arguments = {},
                          std::string_view thread = "a") {
        return ask_java(verb, arguments, thread).get();
    }
    bool java_gets_it(std::string_view thread = "b") { return tell_java("try", {}, thread) == "true"; }
};

TEST_P(with_redisson, what_java_holds_is_refused_to_us_and_what_we_hold_to_java) {
    tell_java("lock");
    EXPECT_FALSE(lock->try_acquire());
    EXPECT_FALSE(lock->try_acquire_for(50ms));
    tell_java("unlock");

    lease held = lock->acquire();
    EXPECT_FALSE(java_gets_it());
    EXPECT_EQ(tell_java("try", {50}, "b"), "false");
    EXPECT_NE(ask_java("unlock").failure().find("IllegalMonitorState"), std::string::npos);
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(java_gets_it());
    tell_java("unlock", {}, "b");
}

// The quickest of a few: a busy machine only makes it longer, and there is nothing else that is as quick.
TEST_P(with_redisson, javas_release_wakes_us) {
    auto best = milliseconds::max();
    for (int i = 0; i < 3; ++i) {
        tell_java("lock", {60'000});
        auto waiter = waiter_for(*lock);
        ASSERT_TRUE(kind.waits(name));
        const stopwatch since;
        tell_java("unlock");
        lease got = waiter.get();
        best = std::min(best, since.took());
        EXPECT_TRUE(got.valid());
    }
    EXPECT_LT(best, 100ms);
}

TEST_P(with_redisson, our_release_wakes_java) {
    auto best = milliseconds::max();
    for (int i = 0; i < 3; ++i) {
        lease held = lock->acquire();
        auto waiter = ask_java("lock");
        ASSERT_TRUE(kind.waits(name));
        EXPECT_FALSE(waiter.ready());
        const stopwatch since;
        EXPECT_TRUE(held.release());
        waiter.get();
        best = std::min(best, since.took());
        tell_java("unlock");
    }
    EXPECT_LT(best, 100ms);
}

INSTANTIATE_TEST_SUITE_P(, with_redisson,
                         ::testing::Combine(::testing::Values(late_redisson_3, newest_redisson),
                                            ::testing::Values(recursive_shared, fair_shared, fenced_shared,
                                                              writing_shared)),
                         [](const ::testing::TestParamInfo<version_and_kind>& p) {
                             std::string version = std::get<0>(p.param);
                             std::replace(version.begin(), version.end(), '.', '_');
                             return std::string{std::get<1>(p.param).name} + "_" + version;
                         });

}  // namespace
}  // namespace holdfast::test
