// A redlock with a member behind Sentinel: a failover there must not create a second majority.
#include "server/scene.hpp"
#include "support/sentinel_scene.hpp"

#include <string>

namespace holdfast::test {
namespace {

class redlock_behind_sentinel : public ::testing::Test {
  protected:
    [[nodiscard]] std::string url(const std::string& restarts) const {
        return "redlock:node_timeout=" + std::to_string(1'000 * slower) +
               "ms,longest_lease=" + std::to_string(longest.count()) + "ms,restarts=" + restarts + "," +
               watched.url() + "," + other.url() + "," + third.url();
    }
    // Whether a client that meets the server for the first time counts it. The uptime is in whole seconds.
    static bool is_old(redis_server& s) {
        const auto info = s.command({"INFO", "server"}).text;
        const auto at = info.find("uptime_in_seconds:");
        return at != std::string::npos &&
               std::chrono::seconds{std::stoi(info.substr(at + 18))} - 1s > longest + longest / 100 + 2ms;
    }
    // Client A holds the lock on the watched master and on another server when that master dies. Whether
    // client B then acquires it on the promoted replica and on the third server while A's lease is valid.
    bool second_majority_is_granted(const std::string& restarts) {
        client a{settings(url("trusted"))};
        EXPECT_TRUE(mutex(a, "warm").try_acquire_for(patience));
        third.command({"SET", "job", "foreign", "PX", "60000"});
        watched.replicate();
        watched.cut_replicas();
        // Not renewed: a renewal would report the loss.
        const auto first = mutex(a, "job").acquire({.ttl = 60s});
        watched.master().stop();
        watched.await_failover();
        EXPECT_FALSE(exists(watched.master(), "job"))
            << "the promoted replica has the lock: this shows nothing";
        third.command({"DEL", "job"});
        for (auto* const s : {&other, &third, &watched.master()})
            EXPECT_TRUE(eventually(patience, [&] { return is_old(*s); }));
        client b{settings(url(restarts), longest)};
        mutex of_b{b, "job"};
        const bool got = eventually(longest / 2, [&] {
            std::error_code why;
            return static_cast<bool>(of_b.try_acquire(why));
        });
        EXPECT_TRUE(first.valid()) << "the failover took so long that this shows nothing";
        return got;
    }

    static constexpr milliseconds longest = 4s * slower;
    sentinel_scene watched;
    redis_server other;
    redis_server third;
};

TEST_F(redlock_behind_sentinel, promoted_member_does_not_count_until_the_longest_lease_is_over) {
    EXPECT_FALSE(second_majority_is_granted("quarantined"));
}

TEST_F(redlock_behind_sentinel, trusted_member_creates_a_second_majority) {
    EXPECT_TRUE(second_majority_is_granted("trusted")) << "otherwise the test above shows nothing";
}

}  // namespace
}  // namespace holdfast::test
