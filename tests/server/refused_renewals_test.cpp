// The server refuses one of several renewals that are sent together.
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class renewals_of_a_user : public ::testing::Test {
  protected:
    void allow_keys(const std::string& keys) {
        ASSERT_EQ(
            server.command({"ACL", "SETUSER", "alice", "on", ">pw", "resetkeys", keys, "&*", "+@all"}).text,
            "OK");
    }
    [[nodiscard]] config as_alice() const {
        config c;
        c.url = "redis://alice:pw@127.0.0.1:" + std::to_string(server.port());
        c.lease = 3s;  // outlasts a machine that stalls for a second
        return c;
    }

    redis_server server;
};

TEST_F(renewals_of_a_user, keep_the_other_locks_when_the_right_to_one_is_lost) {
    allow_keys("~*");
    client c{as_alice()};
    std::vector<lease> kept;
    for (int i = 0; i < 20; ++i) kept.push_back(mutex(c, "mine" + std::to_string(i)).acquire());
    const auto lost = mutex(c, "forbidden").acquire();
    allow_keys("~*mine*");
    ASSERT_TRUE(eventually(patience, [&] { return !lost.valid(); }));
    const auto later = boot_clock::now() + 2 * c.settings().lease;
    for (const auto& one : kept) {
        ASSERT_TRUE(eventually(patience, [&] { return !one.valid() || one.deadline() > later; }));
        EXPECT_TRUE(one.valid());
    }
}

}  // namespace
}  // namespace holdfast::test
