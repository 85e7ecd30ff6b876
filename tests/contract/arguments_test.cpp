// Names and times at the edges of what is allowed.
#include "contract/lock_contract.hpp"
#include "support/stalls.hpp"

namespace holdfast::contract {

TEST_P(lock_contract, any_bytes_are_a_valid_name) {
    if (!takes_any_name()) GTEST_SKIP() << "this store refuses names with lone braces for this kind";
    for (const auto& name :
         {"x"s, std::string(1024, 'n'), "a\0b"s, "\0"s, "a\r\nb"s, "{"s, "}"s, "{}"s, "a}b"s, "{a}b"s, "a{b"s,
          "}{"s, "{{}}"s, " "s, "%s%n"s, "\xff\xfe\xc3("s, "holdfast:q1:{x}"s, "*"s, "[a]"s}) {
        SCOPED_TRACE(lock_name{name}.printable());
        const auto of_a = lock_of(a(), name);
        const auto of_b = lock_of(b(), name);
        auto held = of_a->acquire();
        EXPECT_FALSE(of_b->try_acquire());
        if (can().inspection) {
            EXPECT_EQ(inspect(b(), name).holders.size(), 1U);
        }
        const auto before = b().stats().attempts.busy;
        auto waiting = in_background([&] { return of_b->acquire(); });
        ASSERT_TRUE(eventually(patience,
                               [&] { return b().stats().attempts.busy >= before + refusals_of_a_waiter(); }));
        EXPECT_EQ(held.release(), release_outcome::released);
        auto next = waiting.get();
        EXPECT_TRUE(next.valid());
        EXPECT_EQ(next.release(), release_outcome::released);
        EXPECT_TRUE(nothing_is_left(name));
    }
}

TEST_P(lock_contract, names_that_look_alike_are_different_locks) {
    if (!takes_any_name()) GTEST_SKIP() << "this store refuses names with lone braces for this kind";
    const std::vector<std::string> names{"x", "{x}", "{x}{x}", "x}", "{x", "X", "x\0"s, " x"};
    std::vector<lease> all;
    for (const auto& name : names) all.push_back(lock_of(a(), name)->try_acquire());
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_TRUE(all[i]) << names[i];
    all[0].release();
    EXPECT_TRUE(all[1].valid());
    EXPECT_FALSE(lock_of(b(), "{x}")->try_acquire());
}

TEST_P(lock_contract, empty_or_too_long_name_is_refused) {
    EXPECT_EQ(code_of([&] { (void)lock_of(a(), ""); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { (void)lock_of(a(), std::string(1025, 'n')); }), errc::invalid_argument);
}

TEST_P(lock_contract, ttl_of_zero_or_less_is_refused) {
    const auto of_a = lock_of(a());
    for (const milliseconds ttl : {0ms, -1ms, milliseconds::min()}) {
        EXPECT_EQ(code_of([&] { (void)lock_of(a(), stock, {.ttl = ttl}); }), errc::invalid_argument);
        EXPECT_EQ(code_of([&] { (void)of_a->acquire({.ttl = ttl}); }), errc::invalid_argument);
        EXPECT_EQ(code_of([&] { (void)of_a->try_acquire({.ttl = ttl}); }), errc::invalid_argument);
        std::error_code ec;
        EXPECT_FALSE(of_a->try_acquire({.ttl = ttl}, ec));
        EXPECT_EQ(ec, errc::invalid_argument);
    }
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(lock_contract, huge_ttl_is_cut_to_a_year) {
    const auto of_a = lock_of(a());
    for (const auto& ttl : {milliseconds::max(), milliseconds{std::chrono::hours{24} * 365 * 1000}}) {
        auto held = of_a->acquire({.ttl = ttl});
        EXPECT_TRUE(held.valid());
        const bool bounded = can().ends_by_session() || can().has_modes;
        EXPECT_GT(held.remaining(), bounded ? 1s : std::chrono::hours{24} * 350);
        EXPECT_LE(held.remaining(), std::chrono::hours{24} * 365);
        EXPECT_EQ(held.release(), release_outcome::released);
    }
}

TEST_P(lock_contract, wait_limit_of_zero_or_less_is_one_try) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    auto held = of_a->acquire();
    const auto begun = boot_clock::now();
    EXPECT_FALSE(of_b->try_acquire_for(0s));
    EXPECT_FALSE(of_b->try_acquire_for(-1s));
    EXPECT_FALSE(of_b->try_acquire_for(std::chrono::hours::min()));
    EXPECT_FALSE(of_b->try_lock_for(-1.5s));
    EXPECT_FALSE(of_b->try_lock_for(std::chrono::duration<double>{std::numeric_limits<double>::quiet_NaN()}));
    EXPECT_FALSE(of_b->try_lock_until(std::chrono::steady_clock::now() - 1h));
    EXPECT_FALSE(of_b->try_lock_until(std::chrono::steady_clock::time_point::min()));
    EXPECT_FALSE(of_b->try_lock_until(std::chrono::system_clock::time_point::min()));
    EXPECT_FALSE(of_b->try_lock_until(boot_clock::time_point::min()));
    EXPECT_LT(boot_clock::now() - begun, 5s + test::taken_by_the_machine());
    EXPECT_EQ(b().stats().attempts.busy, 9U);
    held.release();
    EXPECT_TRUE(of_b->try_acquire_for(-1s));
}

TEST_P(lock_contract, endless_wait_limit_waits_until_the_release) {
    const auto of_a = lock_of(a());
    const auto of_b = lock_of(b());
    const std::vector<std::function<bool()>> waits{
        [&] { return of_b->try_lock_for(std::chrono::hours::max()); },
        [&] { return of_b->try_lock_for(std::chrono::nanoseconds::max()); },
        [&] {
            return of_b->try_lock_for(std::chrono::duration<double>{std::numeric_limits<double>::infinity()});
        },
        [&] { return of_b->try_lock_until(std::chrono::steady_clock::time_point::max()); },
        [&] { return of_b->try_lock_until(std::chrono::system_clock::time_point::max()); },
        [&] { return of_b->try_lock_until(boot_clock::time_point::max()); },
    };
    for (const auto& wait : waits) {
        auto held = of_a->acquire();
        const auto before = b().stats().attempts.busy;
        auto waiting = in_background([&] {
            const bool got = wait();
            if (got) of_b->unlock();
            return got;
        });
        ASSERT_TRUE(eventually(patience,
                               [&] { return b().stats().attempts.busy >= before + refusals_of_a_waiter(); }));
        held.release();
        EXPECT_TRUE(waiting.get());
    }
}

TEST_P(lock_contract, thousands_of_locks_and_unlocks_leave_nothing_behind) {
    const auto of_a = lock_of(a());
    // Several servers vote, or a log is written.
    const unsigned rounds = can().has.votes || GetParam().store->commits ? 900 : 9'900;
    for (unsigned i = 0; i < rounds; ++i) {
        of_a->lock();
        of_a->unlock();
    }
    for (int i = 0; i < 100; ++i) {
        const std::string name = "order:" + std::to_string(i);
        EXPECT_TRUE(lock_of(a(), name)->try_acquire());
    }
    EXPECT_TRUE(nothing_is_left());
    if (can().inspection) {
        EXPECT_TRUE(list(b()).empty());
    }
    EXPECT_EQ(a().stats().acquired, rounds + 100);
    EXPECT_EQ(a().stats().released, rounds + 100);
    EXPECT_EQ(a().stats().held_now, 0U);
}

}  // namespace holdfast::contract
