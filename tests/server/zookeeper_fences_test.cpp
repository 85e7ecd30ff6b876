// Fences of ZooKeeper that follow the time (fences=time): the last one is written down.
#include "server/scene.hpp"
#include "support/zookeeper_client.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <system_error>

namespace holdfast::test {
namespace {

constexpr std::uint64_t far_ahead = std::uint64_t{1} << 52;

class zookeeper_fences : public ::testing::Test {
  protected:
    [[nodiscard]] config by_time(const std::string& login = {}) const {
        auto url = servers.url() + "&fences=time";
        return settings(url.insert(url.find("://") + 3, login));
    }
    static mutex fenced(client& on, const char* name) { return {on, name, {.fenced = true}}; }
    void set_last_fence(std::uint64_t last) {
        zookeeper_client by_hand{servers.port()};
        by_hand.ask(zookeeper::set_data("/locks/%last_fences/stock", "holdfast fence " + std::to_string(last),
                                        zookeeper::any_version));
        ASSERT_EQ(by_hand.last, zookeeper::code::ok);
    }

    zookeeper_servers servers;
    client a{by_time()};
};

// As if the former leader's clock had been ahead. The servers delete the directories of locks.
TEST_F(zookeeper_fences, grow_past_the_last_one_although_the_directory_is_gone) {
    { EXPECT_TRUE(mutex(a, "stock").acquire()) << "a lock without fences makes the directory"; }
    const auto before = fenced(a, "stock").acquire().fence();
    set_last_fence(far_ahead);
    zookeeper_client by_hand{servers.port()};
    ASSERT_TRUE(eventually(patience, [&] {
        by_hand.ask(zookeeper::exists("/locks/stock", zookeeper::watch::no));
        return by_hand.last == zookeeper::code::no_node;
    }));
    EXPECT_EQ(inspect(a, "stock").last_fence, far_ahead);
    const auto after = fenced(a, "stock").acquire().fence();
    EXPECT_GT(to_number(after), far_ahead);
    EXPECT_LT(to_number(before), far_ahead);
}

TEST_F(zookeeper_fences, leave_no_trace_in_the_directory) {
    { EXPECT_TRUE(fenced(a, "stock").acquire()); }
    zookeeper_client by_hand{servers.port()};
    const auto data =
        zookeeper::parse_data(by_hand.ask(zookeeper::get_data("/locks/stock", zookeeper::watch::no)));
    ASSERT_TRUE(data);
    EXPECT_EQ(data->data, "") << "a latch would be taken for it";
}

// Its node would keep others out meanwhile.
TEST_F(zookeeper_fences, client_that_may_not_write_them_is_refused_at_once) {
    { EXPECT_TRUE(mutex(a, "plain").acquire()); }
    client owner_of_fences{by_time("li:secret@")};
    { EXPECT_TRUE(fenced(owner_of_fences, "hers").acquire()); }
    const stopwatch since;
    std::error_code ec;
    EXPECT_FALSE(fenced(a, "stock").try_acquire(ec));
    EXPECT_EQ(ec, errc::no_permission);
    EXPECT_LT(since.took(), answer_timeout);
    EXPECT_TRUE(mutex(a, "stock").try_acquire()) << "its node is gone";
}

}  // namespace
}  // namespace holdfast::test
