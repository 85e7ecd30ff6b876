// A redlock one of whose members is a master behind Sentinel: a failover there must not make a second
// majority.
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
    // Long enough to count for who meets it for the first time; it shows whole seconds.
    static bool is_old(redis_server& s) {
        const auto info = s.command({"INFO", "server"}).text;
        const auto at = info.find("uptime_in_seconds:");
        return at != std::string::npos &&
               std::chrono::seconds{std::stoi(info.substr(at + 18))} - 1s > longest + longest / 100 + 2ms;
    }
    // A has the lock on the watched master and on another server when the master dies with it. Whether B,
    // which comes afterwards, has it on the promoted one and on the third at once, while A's lease is valid.
    bool is_a_second_majority_got(const std::string& restarts) {
        client a{settings(url("trusted"))};
        EXPECT_TRUE(mutex(a, "warm").try_acquire_for(patience));
        third.command({"SET", "job", "foreign", "PX", "60000"});
        watched.replicate();
        watched.cut_replicas();
        // Not renewed: it would be told.
        const auto first = mutex(a, "job").acquire({.ttl = 60s});
        watched.master().stop();
        watched.await_failover();
        EXPECT_FALSE(exists(watched.master(), "job"))
            << "the promoted one has heard of it: this shows nothing";
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

TEST_F(redlock_behind_sentinel, a_promoted_member_is_not_counted_until_the_longest_lease_is_over) {
    EXPECT_FALSE(is_a_second_majority_got("quarantined"));
}

TEST_F(redlock_behind_sentinel, one_that_is_trusted_makes_a_second_majority) {
    EXPECT_TRUE(is_a_second_majority_got("trusted")) << "or the test beside this one shows nothing";
}

}  // namespace
}  // namespace holdfast::test
