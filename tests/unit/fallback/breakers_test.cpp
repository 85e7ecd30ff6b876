// What the breakers of a client tell about its servers.
#include "fallback/breakers.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::fallback {
namespace {

using namespace std::chrono_literals;

class breakers_test : public ::testing::Test {
  protected:
    void fail(const std::string& server, int times) {
        for (int i = 0; i < times; ++i) {
            now += 100ms;
            all.report(server, backend::refused{{errc::unavailable, "no route to it", {}}}, now);
        }
    }
    void work(const std::string& server) { all.report(server, backend::granted{30s}, now); }
    [[nodiscard]] bool permits_after(const std::string& server, boot_clock::duration pause) {
        now += pause;
        return all.permits(server, now);
    }

    std::vector<breaker_change> told;
    const std::shared_ptr<wish> wished = std::make_shared<wish>();
    breakers all{wished, [this](breaker_change c) { told.push_back(std::move(c)); }};
    time_point now{1h};
};

TEST_F(breakers_test, tell_once_that_a_server_has_failed_and_that_it_works) {
    fail("a", 2);
    EXPECT_TRUE(told.empty());
    fail("a", 2);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_TRUE(told[0].open);
    EXPECT_EQ(told[0].server, "a");
    EXPECT_EQ(told[0].why, "no route to it");
    EXPECT_TRUE(permits_after("a", 10s));
    fail("a", 1);
    EXPECT_EQ(told.size(), 1U) << "a probe that fails changes nothing";
    EXPECT_TRUE(permits_after("a", 20s));
    work("a");
    work("a");
    ASSERT_EQ(told.size(), 2U);
    EXPECT_FALSE(told[1].open);
    EXPECT_TRUE(told[1].all_closed);
}

TEST_F(breakers_test, tell_which_server_and_whether_another_one_is_still_away) {
    fail("a", 3);
    fail("b", 3);
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[1].server, "b");
    EXPECT_TRUE(all.permits("c", now));
    work("a");
    EXPECT_FALSE(told.at(2).all_closed);
    work("b");
    EXPECT_TRUE(told.at(3).all_closed);
}

// A cluster has given its slots to another server.
TEST_F(breakers_test, forget_a_server_that_is_not_asked_any_more) {
    fail("a", 3);
    now += 60s;
    work("b");
    EXPECT_EQ(told.size(), 1U) << "perhaps a lock of it is asked for now and then";
    now += 20s;
    work("b");
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[1].server, "a");
    EXPECT_FALSE(told[1].open);
    EXPECT_TRUE(told[1].all_closed);
}

}  // namespace
}  // namespace holdfast::fallback
