// The fences of an RFencedLock, which Redisson calls tokens, are those of a fenced_mutex: they grow across
// the holders of both.
#include "interop/java_scene.hpp"

namespace holdfast::test {
namespace {

class fences_with_redisson : public java_scene {
  protected:
    fenced_mutex lock{c, name};
};

TEST_P(fences_with_redisson, fences_grow_from_each_holder_to_the_next) {
    std::uint64_t last = 0;
    for (int i = 0; i < 10; ++i) {
        const auto javas_fence = std::stoull(tell_java("a", "lock_fence", "fenced"));
        EXPECT_GT(javas_fence, last);
        tell_java("a", "unlock", "fenced");
        lease held = lock.acquire();
        EXPECT_GT(to_number(held.fence()), javas_fence);
        last = to_number(held.fence());
        EXPECT_TRUE(held.release());
    }
}

// Redisson takes a new fence with each lock(); our nested holds keep the outer fence. The next holder's fence
// is greater in any case.
TEST_P(fences_with_redisson, fences_grow_past_nested_holds) {
    const auto outer = std::stoull(tell_java("a", "lock_fence", "fenced"));
    const auto inner = std::stoull(tell_java("a", "lock_fence", "fenced"));
    EXPECT_GT(inner, outer);
    tell_java("a", "unlock", "fenced");
    tell_java("a", "unlock", "fenced");
    lease held = lock.acquire();
    lease nested = lock.acquire(held);
    EXPECT_GT(to_number(held.fence()), inner);
    EXPECT_EQ(nested.fence(), held.fence());
    nested.release();
    held.release();
    EXPECT_GT(std::stoull(tell_java("a", "lock_fence", "fenced")), to_number(nested.fence()));
    tell_java("a", "unlock", "fenced");
}

TEST_P(fences_with_redisson, fences_grow_past_forced_unlocks_and_waits) {
    lease held = lock.acquire();
    const auto ours = to_number(held.fence());
    EXPECT_EQ(tell_java("a", "force", "fenced"), "true");
    const auto javas_fence = std::stoull(tell_java("a", "try_fence", "fenced", {1'000, 60'000}));
    EXPECT_GT(javas_fence, ours);
    client d{without_polls()};  // c believes that it holds the lock until it renews
    fenced_mutex elsewhere{d, name};
    auto waiter = waiter_for(elsewhere);
    ASSERT_TRUE(fenced_shared.waits(name));
    EXPECT_TRUE(evict(c, name));
    EXPECT_GT(to_number(waiter.get().fence()), javas_fence);
}

// Threads of two Redissons and of two holdfast clients take turns in any order. In a holdfast client the lock
// passes between threads without a request. Each thread notes its fence while it holds the lock.
TEST_P(fences_with_redisson, fences_grow_under_contention) {
    constexpr long turns = 25;
    client d{without_polls()};
    fenced_mutex elsewhere{d, name};
    peer& other_java =
        redisson(GetParam() == std::string_view{newest_redisson} ? late_redisson_3 : newest_redisson);
    std::mutex noting;
    const auto take_turns = [&](fenced_mutex& with) {
        return in_background([&] {
            for (long i = 0; i < turns; ++i) {
                lease held = with.acquire();
                const std::lock_guard alone{noting};
                server.command({"RPUSH", name + ":fences", std::to_string(to_number(held.fence()))});
                held.release();
            }
        });
    };
    std::vector<peer::request> javas;
    for (const auto* thread : {"a", "b"}) {
        javas.push_back(java.ask(thread, "note_fences", "fenced", name, {turns}));
        javas.push_back(other_java.ask(thread, "note_fences", "fenced", name, {turns}));
    }
    std::vector<std::future<void>> ours;
    for (auto* with : {&lock, &elsewhere}) {
        ours.push_back(take_turns(*with));
        ours.push_back(take_turns(*with));
    }
    for (auto& one : ours) one.get();
    for (auto& one : javas) one.get();
    const auto fences = server.command({"LRANGE", name + ":fences", "0", "-1"}).items;
    EXPECT_EQ(fences.size(), 8U * turns);
    std::uint64_t last = 0;
    for (const auto& fence : fences) {
        EXPECT_GT(std::stoull(fence.text), last);
        last = std::stoull(fence.text);
    }
}

INSTANTIATE_TEST_SUITE_P(, fences_with_redisson, both_redissons(), version_name);

}  // namespace
}  // namespace holdfast::test
