// Fences of a joint store grow through all its levels. The first is a Redis, the second one of each other
// sort.
#include "server/scene.hpp"
#include "support/zookeeper_server.hpp"

#include <holdfast/admin.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::test {
namespace {

constexpr mutex_options with_fence{.fenced = true};

class joint_fences : public ::testing::TestWithParam<const char*> {
  protected:
    static constexpr auto short_ttl = 2s * slower;

    void SetUp() override {
        const std::string sort = GetParam();
        if (sort == "zookeeper")
            second = ensemble.emplace().url() + "&fences=time";
        else
            second = sort + ":" + (folder.path() / "locks").string();
        // A Redis that was just started may have lost locks.
        a.emplace(joined());
        ASSERT_TRUE(eventually(patience, [&] {
            std::error_code ec;
            return bool{mutex(*a, "first").try_acquire(ec)};
        }));
        b.emplace(joined());
    }
    [[nodiscard]] config joined() const {
        const auto time = [](auto d) { return std::to_string(d / 1ms) + "ms"; };
        const auto arbiter = "sqlite:" + (folder.path() / "arbiter").string();
        auto c = settings("joint:arbiter=" + arbiter + ",mode_lease=" + time(1s * slower) + ",max_skew=0ms," +
                              redis.url() + "?longest_lease=" + time(short_ttl) + "," + second,
                          short_ttl);
        c.answer_timeout = 500ms * slower;
        return c;
    }
    void change_to(std::size_t level) { (void)admin::switch_mode(*a, level, {.reason = "test"}); }
    // Leaves the group between the levels.
    void use_both() {
        EXPECT_EQ(code_of([&] { (void)admin::switch_mode(*a, 1, {.reason = "test", .wait = 1ms}); }),
                  errc::timed_out);
        ASSERT_EQ(admin::mode(*b).needed.size(), 2U);
    }

    redis_server redis;
    const temp_dir folder;
    std::optional<zookeeper_servers> ensemble;
    std::string second;
    std::optional<client> a, b;
};

TEST_P(joint_fences, grow_through_changes) {
    std::uint64_t last = 0;
    std::atomic<bool> over = false;
    auto worker = in_background([&] {
        while (!over) {
            auto held = mutex(*b, "stock", with_fence).try_acquire_for(patience);
            const auto now = to_number(held.fence());
            EXPECT_GT(now, last);
            last = now;
            (void)held.release();
        }
    });
    for (const std::size_t level : {1U, 0U, 1U, 0U}) change_to(level);
    over = true;
    worker.get();
}

// The fences of the first level are far ahead of the other's clock, as if that lagged.
TEST_P(joint_fences, of_two_levels_are_known_to_both) {
    use_both();
    ASSERT_TRUE(mutex(*a, "stock", with_fence).try_acquire());
    const auto keys = redis.keys();
    const auto last = std::ranges::find_if(keys, [](const auto& k) { return k.starts_with("holdfast:f"); });
    ASSERT_NE(last, keys.end());
    const auto ahead = std::uint64_t{1} << 52;
    redis.command({"SET", *last, std::to_string(ahead)});
    auto held = mutex(*a, "stock", with_fence).try_acquire_for(patience);
    ASSERT_TRUE(held);
    const auto of_both = held.fence();
    EXPECT_GT(to_number(of_both), ahead);
    (void)held.release();
    client second_only{settings(second, short_ttl)};
    EXPECT_EQ(inspect(second_only, "stock").last_fence, to_number(of_both));
    const auto later = mutex(second_only, "stock", with_fence).try_acquire_for(patience);
    ASSERT_TRUE(later);
    EXPECT_GT(later.fence(), of_both);
}

INSTANTIATE_TEST_SUITE_P(stores, joint_fences, ::testing::Values("sqlite", "file", "zookeeper"),
                         [](const auto& of) { return std::string{of.param}; });

}  // namespace
}  // namespace holdfast::test
