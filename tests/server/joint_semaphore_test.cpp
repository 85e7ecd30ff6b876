// Semaphores of a joint store: permits that belong to leases follow the mode like locks.
#include "server/scene.hpp"

#include <holdfast/admin.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

template <class Semaphore>
class joint_semaphore : public ::testing::Test {
  protected:
    static constexpr auto mode_lease = 1s * slower;
    static constexpr auto short_ttl = 2s * slower;

    void SetUp() override {
        // A Redis that was just started may have lost permits.
        for (auto* const one : {&a, &b})
            ASSERT_TRUE(eventually(patience, [&] {
                std::error_code ec;
                return bool{mutex(*one, "first").try_acquire(ec)};
            }));
    }
    [[nodiscard]] config joined() const {
        const auto time = [](auto d) { return std::to_string(d / 1ms) + "ms"; };
        auto c = settings("joint:mode_lease=" + time(mode_lease) + ",max_skew=0ms," + redis.url() +
                              "?longest_lease=" + time(short_ttl) + ",sqlite:" + file,
                          short_ttl);
        c.answer_timeout = 500ms * slower;
        return c;
    }
    [[nodiscard]] static Semaphore of(client& c, std::int64_t total = 3) {
        return {c, "stock", {.total = total}};
    }
    void change_to(std::size_t level) { (void)admin::switch_mode(a, level, {.reason = "test"}); }
    [[nodiscard]] bool has_free(std::int64_t n) {
        return eventually(patience, [&] { return of(b).available_permits() == n; });
    }

    redis_server redis;
    const temp_dir folder;
    const std::string file = (folder.path() / "locks").string();
    client a{joined()};
    client b{joined()};
};

using joint_counting_semaphore = joint_semaphore<counting_semaphore>;
using both_kinds = ::testing::Types<counting_semaphore, permit_semaphore>;
TYPED_TEST_SUITE(joint_semaphore, both_kinds);

TYPED_TEST(joint_semaphore, holders_never_exceed_the_permits_while_the_mode_changes) {
    std::atomic<bool> over = false;
    std::atomic<int> inside{0}, most{0};
    std::atomic<std::uint64_t> turns{0};
    const auto work = [&](client& on, std::uint32_t permits) {
        while (!over) {
            auto held = this->of(on).try_acquire_for(patience, {.permits = permits});
            const int now = inside += static_cast<int>(permits);
            // What a holder does after its lease has ended counts for nothing.
            if (held.valid())
                for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
                }
            ++turns;
            inside -= static_cast<int>(permits);
            (void)held.release();
        }
    };
    std::vector<std::future<void>> all;
    for (auto* const on : {&this->a, &this->b})
        for (const std::uint32_t permits : {1U, 1U, 2U})
            all.push_back(in_background([&work, on, permits] { work(*on, permits); }));
    for (const std::size_t level : {1U, 0U, 1U}) {
        const auto before = turns.load();
        this->change_to(level);
        EXPECT_TRUE(eventually(patience, [&] { return turns > before + 10; })) << "level " << level;
    }
    over = true;
    for (auto& one : all) one.get();
    EXPECT_LE(most, 3);
    EXPECT_GE(most, 2);
    EXPECT_TRUE(this->has_free(3));
}

TYPED_TEST(joint_semaphore, holders_keep_their_permits_through_a_change_and_back) {
    event_recorder events{this->a};
    auto two = this->of(this->a).acquire({.permits = 2});
    for (const std::size_t level : {1U, 0U, 1U}) {
        this->change_to(level);
        EXPECT_TRUE(two.valid());
        EXPECT_FALSE(this->of(this->b).try_acquire({.permits = 2}));
        EXPECT_TRUE(this->has_free(1));
        EXPECT_TRUE(this->of(this->b).try_acquire());
    }
    EXPECT_EQ(events.count(event_kind::lost), 0U);
    EXPECT_EQ(two.release(), release_outcome::released);
    EXPECT_TRUE(this->has_free(3));
}

TYPED_TEST(joint_semaphore, waiter_for_several_permits_is_served_by_the_next_level) {
    auto held = this->of(this->a).acquire({.permits = 2});
    auto waiter = in_background([&] { return this->of(this->b).acquire({.permits = 3}); });
    ASSERT_TRUE(eventually(patience, [&] { return this->b.stats().attempts.busy >= 2; }));
    this->change_to(1);
    EXPECT_FALSE(ready(waiter, 50ms));
    EXPECT_EQ(held.release(), release_outcome::released);
    ASSERT_TRUE(ready(waiter, patience));
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_TRUE(this->has_free(3));
}

TYPED_TEST(joint_semaphore, number_of_permits_is_an_option_and_cannot_be_changed) {
    const auto refused = [](auto f, std::string_view because) {
        EXPECT_EQ(code_of(f), errc::invalid_argument);
        const auto why = message_of(f);
        EXPECT_NE(why.find(because), std::string::npos) << why;
    };
    refused([&] { (void)TypeParam(this->a, "stock").try_acquire(); }, "semaphore_options::total");
    refused([&] { (void)this->of(this->a).try_set_permits(5); }, "semaphore_options::total");
    refused([&] { (void)this->of(this->a).add_permits(1); }, "by leases only");
    EXPECT_TRUE(this->of(this->a).try_acquire());
}

// Not after they were taken from others.
TEST_F(joint_counting_semaphore, permits_without_an_owner_are_refused_before_they_are_taken) {
    const auto all = of(b).acquire({.permits = 3});
    EXPECT_EQ(code_of([&] { of(a).take(); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { (void)of(a).try_take(); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { of(a).give(); }), errc::invalid_argument);
}

// The next level has never heard of the semaphore.
TEST_F(joint_counting_semaphore, has_its_permits_also_after_a_change) {
    (void)of(a).acquire();
    change_to(1);
    EXPECT_EQ(of(b).available_permits(), 3);
}

}  // namespace
}  // namespace holdfast::test
