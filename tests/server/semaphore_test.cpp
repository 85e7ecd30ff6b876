// Semaphores on Redis: the content of the keys, and what happens to permits under faults.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

template <class Semaphore>
class semaphores : public ::testing::Test {
  protected:
    static constexpr bool with_ids = std::is_same_v<Semaphore, permit_semaphore>;

    [[nodiscard]] static Semaphore of(client& c) { return {c, "job"}; }
    [[nodiscard]] std::int64_t free_now() { return std::stoll("0" + server.command({"GET", "job"}).text); }
    [[nodiscard]] static std::string owners() { return with_ids ? "{job}:timeout" : "holdfast:p1:{job}"; }
    [[nodiscard]] bool becomes_available(std::int64_t n) {
        return eventually(patience, [&] { return of(direct).available_permits() == n; });
    }

    redis_server server;
    fault_proxy net{server};
    client direct{server.url()};
    client behind_it{net.url()};
};
struct semaphore_names {
    template <class Semaphore>
    static std::string GetName(int) {
        return std::is_same_v<Semaphore, permit_semaphore> ? "permit_semaphore" : "counting_semaphore";
    }
};
using both_semaphores = ::testing::Types<counting_semaphore, permit_semaphore>;
TYPED_TEST_SUITE(semaphores, both_semaphores, semaphore_names);

// The child is forked before any thread starts.
template <class Semaphore>
class semaphore_of_processes : public ::testing::Test {
  protected:
    redis_server server;
};
TYPED_TEST_SUITE(semaphore_of_processes, both_semaphores, semaphore_names);

TYPED_TEST(semaphore_of_processes, gets_permits_back_from_a_killed_holder) {
    this->server.command({"SET", "job", "2"});
    auto child = child_process::fork_call([url = this->server.url()](const parent_link& parent) {
        client mine{settings(url, 2s)};
        TypeParam semaphore{mine, "job"};
        const auto held = semaphore.acquire({.permits = 2});
        parent.report("held");
        (void)parent.await_line();
        return 0;
    });
    ASSERT_TRUE(child.wait_for_output("held", patience));
    client c{this->server.url()};
    TypeParam ours{c, "job"};
    EXPECT_EQ(ours.available_permits(), 0);
    auto waiter = in_background([&] { return ours.acquire({.permits = 2}); });
    child.kill();
    // Within the time of its lease, although no message comes.
    auto held = waiter.get();
    EXPECT_TRUE(held.valid());
    held.release();
    EXPECT_EQ(ours.available_permits(), 2);
}

TYPED_TEST(semaphores, take_with_a_lost_reply_takes_once) {
    this->of(this->direct).try_set_permits(5);
    ASSERT_TRUE(this->of(this->behind_it).acquire().release());  // the server knows the script now
    this->net.drop_reply_of(runs(redis_scripts::semaphore));
    auto held = this->of(this->behind_it).try_acquire({.permits = 2});
    EXPECT_EQ(this->net.count().rules_fired, 1U);
    EXPECT_EQ(this->free_now(), 3);
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(this->becomes_available(5));
    EXPECT_FALSE(exists(this->server, this->owners()));
}

TYPED_TEST(semaphores, release_with_a_lost_reply_releases_once) {
    this->of(this->direct).try_set_permits(3);
    auto held = this->of(this->behind_it).acquire({.permits = 2});
    this->net.drop_reply_of(runs(redis_scripts::semaphore));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(this->net.count().rules_fired, 1U);
    EXPECT_EQ(this->free_now(), 3);
}

TYPED_TEST(semaphores, change_of_the_number_with_a_lost_reply_counts_once) {
    EXPECT_TRUE(this->of(this->behind_it).try_set_permits(3));
    this->net.drop_reply_of(runs(redis_scripts::semaphore));
    EXPECT_EQ(this->of(this->behind_it).add_permits(2), 5);
    EXPECT_EQ(this->net.count().rules_fired, 1U);
    EXPECT_EQ(this->free_now(), 5);
}

TYPED_TEST(semaphores, setting_the_number_returns_true_although_the_first_reply_is_lost) {
    (void)this->of(this->behind_it).available_permits();
    this->net.drop_reply_of(runs(redis_scripts::semaphore));
    EXPECT_TRUE(this->of(this->behind_it).try_set_permits(3));
    EXPECT_EQ(this->net.count().rules_fired, 1U);
}

TYPED_TEST(semaphores, unanswered_change_of_the_number_is_reported_as_unknown) {
    config impatient = settings(this->net.url());
    impatient.answer_timeout = 2s;
    client c{impatient};
    this->of(c).try_set_permits(3);
    this->net.stall();
    try {
        this->of(c).add_permits(2);
        ADD_FAILURE() << "there was no answer";
    } catch (const error& e) {
        EXPECT_TRUE(e.code() == errc::unknown_outcome || e.code() == errc::unavailable) << e.what();
    }
    this->net.resume();
}

TYPED_TEST(semaphores, waiters_retry_when_messages_are_lost) {
    this->of(this->direct).try_set_permits(1);
    auto held = this->of(this->direct).acquire();
    this->net.swallow_messages(true);
    auto waiter = in_background([&] { return this->of(this->behind_it).acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return this->behind_it.stats().attempts.busy >= 2; }));
    held.release();
    EXPECT_TRUE(waiter.get().valid());
}

TYPED_TEST(semaphores, leave_only_their_number_behind) {
    this->of(this->direct).try_set_permits(2);
    {
        const auto one = this->of(this->direct).acquire();
        std::error_code ec;
        EXPECT_FALSE(this->of(this->direct).try_acquire_for(30ms, {.permits = 2}, ec));
    }
    EXPECT_FALSE(exists(this->server, this->owners()));
    for (const auto& key : this->server.keys()) {
        if (key == "job") continue;
        EXPECT_TRUE(key.starts_with("holdfast:o1:{job}:")) << key;
        EXPECT_GT(pttl(this->server, key), 0ms) << key;
        EXPECT_LE(pttl(this->server, key), 62s) << key;  // answer_timeout and a minute
    }
    EXPECT_EQ(pttl(this->server, "job"), -1ms);
}

TYPED_TEST(semaphores, deleted_semaphore_is_not_restored_by_a_release) {
    this->of(this->direct).try_set_permits(2);
    auto held = this->of(this->direct).acquire();
    this->server.command({"DEL", "job"});
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_FALSE(exists(this->server, "job"));
    auto lost = this->of(this->direct);
    EXPECT_TRUE(lost.try_set_permits(4));
    EXPECT_EQ(this->free_now(), 4);

    // Nor do permits that are still held go into the next semaphore.
    auto still_held = lost.acquire({.permits = 3});
    this->server.command({"DEL", "job"});
    EXPECT_TRUE(lost.try_set_permits(4));
    EXPECT_EQ(still_held.release(), release_outcome::already_lost);
    EXPECT_EQ(this->free_now(), 4);
}

TYPED_TEST(semaphores, waiter_restores_the_number_that_the_server_has_lost) {
    TypeParam known{this->direct, "job", {.total = 1}};
    const auto held = known.acquire();
    auto waiter = in_background([&] { return TypeParam{this->behind_it, "job", {.total = 1}}.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return this->behind_it.stats().attempts.busy >= 2; }));
    this->server.command({"FLUSHALL"});
    const auto next = waiter.get();
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(this->free_now(), 0);
}

// Redisson's expire(), or an operator's PEXPIRE: with the key, all permits of the semaphore are gone.
TYPED_TEST(semaphores, are_held_no_longer_than_their_key_lives) {
    this->of(this->direct).try_set_permits(2);
    auto before = this->of(this->direct).acquire();
    this->server.command({"PEXPIRE", "job", "8000"});
    EXPECT_GT(before.remaining(), 8s) << "nothing has told it yet";
    auto after = this->of(this->direct).acquire();
    EXPECT_TRUE(before.renew());
    for (const auto* const held : {&before, &after}) {
        EXPECT_LE(held->remaining(), 8s);
        EXPECT_TRUE(held->valid());
    }
    EXPECT_TRUE(eventually(patience, [&] { return !before.valid() && !after.valid(); }));
    EXPECT_TRUE(eventually(patience, [&] { return this->of(this->direct).try_set_permits(2); }))
        << "the old permits were held no longer than that";
}

TYPED_TEST(semaphores, refuse_a_key_that_is_no_semaphore) {
    this->server.command({"SET", "job", "a token"});
    std::error_code ec;
    EXPECT_FALSE(this->of(this->direct).try_acquire(ec));
    EXPECT_EQ(ec, errc::wrong_kind);
    EXPECT_THROW(this->of(this->direct).add_permits(1), error);
    EXPECT_EQ(this->server.command({"GET", "job"}).text, "a token");
}

TYPED_TEST(semaphores, release_permits_when_memory_has_run_out) {
    this->of(this->direct).try_set_permits(3);
    auto held = this->of(this->direct).acquire({.permits = 2});
    this->server.command({"CONFIG", "SET", "maxmemory", "1"});
    std::error_code ec;
    EXPECT_FALSE(this->of(this->direct).try_acquire(ec));
    EXPECT_EQ(ec, errc::out_of_memory);
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(this->free_now(), 3);
}

}  // namespace
}  // namespace holdfast::test
