// Grants that count only when replicas have them: a master with two replicas.
#include "server/cli_scene.hpp"
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

redis_server::options replica_of(const redis_server& master) {
    redis_server::options o;
    o.config = {"replicaof 127.0.0.1 " + std::to_string(master.port()), "repl-diskless-sync-delay 0",
                "repl-diskless-load swapdb"};
    return o;
}

redis_server::options master_of_replicas() {
    redis_server::options o;
    o.config = {"repl-diskless-sync-delay 0"};
    return o;
}

class replicated_grant : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(eventually(patience, [&] { return connected() == 2; })) << "the replicas do not come up";
    }
    // The number of replicas that confirm a write.
    std::int64_t connected() {
        master.command({"DEL", "nothing"});
        return master.command({"WAIT", "3", "50"}).number;
    }
    void detach(redis_server& replica) { replica.command({"REPLICAOF", "127.0.0.1", "1"}); }
    // Acquires, however slow the replicas are.
    static lease acquired(mutex& m) {
        lease held;
        EXPECT_TRUE(eventually(patience, [&] {
            std::error_code why;
            held = m.acquire(why);
            return static_cast<bool>(held);
        }));
        return held;
    }
    void pause_replicas() {
        one.pause();
        two.pause();
    }
    void resume_replicas() {
        one.resume();
        two.resume();
    }

    redis_server master{master_of_replicas()};
    redis_server one{replica_of(master)};
    redis_server two{replica_of(master)};
    client c{settings(master.url())};
};

TEST_F(replicated_grant, is_on_the_replicas_when_acquire_returns) {
    mutex stock{c, "stock", {.replicas = {.at_least = 2, .within = 5s}}};
    const auto held = stock.acquire();
    EXPECT_EQ(held.acks(), 2U);
    EXPECT_EQ(one.command({"GET", "stock"}).text, held.owner().str());
    EXPECT_EQ(two.command({"GET", "stock"}).text, held.owner().str());
    EXPECT_GT(pttl(two, "stock"), 25s);
}

TEST_F(replicated_grant, without_replicas_has_no_acks) {
    mutex stock{c, "stock"};
    EXPECT_EQ(stock.acquire().acks(), 0U);
}

TEST_F(replicated_grant, is_available_for_every_kind) {
    constexpr replication all{.at_least = 2, .within = 5s};
    mutex fenced{c, "a", {.fenced = true, .replicas = all}};
    recursive_mutex recursive{c, "b", {.replicas = all}};
    fenced_mutex counted{c, "c", {.replicas = all}};
    fair_mutex fair{c, "d", {.replicas = all}};
    shared_mutex shared{c, "e", {.replicas = all}};
    counting_semaphore permits{c, "f", {.total = 3, .replicas = all}};
    permit_semaphore ids{c, "g", {.total = 3, .replicas = all}};
    EXPECT_EQ(fenced.acquire().acks(), 2U);
    EXPECT_EQ(recursive.acquire().acks(), 2U);
    EXPECT_EQ(counted.acquire().acks(), 2U);
    EXPECT_EQ(fair.acquire().acks(), 2U);
    EXPECT_EQ(shared.acquire().acks(), 2U);
    EXPECT_EQ(shared.acquire_shared().acks(), 2U);
    EXPECT_EQ(permits.acquire({.permits = 2}).acks(), 2U);
    EXPECT_EQ(ids.acquire().acks(), 2U);
    multi_lock both{recursive, fair};
    EXPECT_EQ(both.acquire().acks(), 2U);
}

TEST_F(replicated_grant, with_too_few_replicas_is_refused_and_undone) {
    detach(two);
    ASSERT_TRUE(eventually(patience, [&] { return connected() == 1; }));
    mutex stock{c, "stock", {.replicas = {.at_least = 2, .within = 30ms}}};
    try {
        (void)stock.acquire();
        FAIL() << "acquired";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::not_replicated);
        EXPECT_EQ(e.code(), condition::try_later);
        EXPECT_NE(std::string{e.what()}.find("1 of 2 replicas have it"), std::string::npos) << e.what();
        EXPECT_EQ(e.server_text(), "");
    }
    const auto is_free = [&] { return eventually(patience, [&] { return !exists(master, "stock"); }); };
    EXPECT_TRUE(is_free());
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire(); }), errc::not_replicated);
    EXPECT_TRUE(is_free());
    EXPECT_EQ(code_of([&] { stock.lock(); }), errc::not_replicated);
    EXPECT_TRUE(is_free());
    mutex for_one{c, "stock", {.replicas = {.at_least = 1, .within = 5s}}};
    EXPECT_EQ(for_one.acquire().acks(), 1U);
}

TEST_F(replicated_grant, has_acks_for_a_waiter_too) {
    client other{settings(master.url())};
    mutex theirs{other, "stock"};
    mutex stock{c, "stock", {.replicas = {.at_least = 2, .within = 5s}}};
    auto held = theirs.acquire();
    auto waiting = waiter_for(stock);
    ASSERT_TRUE(waits<plain>(master, "stock"));
    EXPECT_TRUE(held.release());
    const auto mine = waiting.get();
    ASSERT_TRUE(mine);
    EXPECT_EQ(mine.acks(), 2U);
    EXPECT_TRUE(mine.valid());
}

// The server holds up everything behind a WAIT: that must not belong to another lock.
TEST_F(replicated_grant, that_waits_for_replicas_holds_up_no_other_lock) {
    pause_replicas();
    mutex stock{c, "stock", {.replicas = {.at_least = 1, .within = 5s}}};
    auto waiting = in_background([&] { return code_of([&] { (void)stock.acquire(); }); });
    ASSERT_TRUE(eventually(patience, [&] { return exists(master, "stock"); }));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(mutex(c, "another").acquire().release());
    EXPECT_FALSE(ready(waiting));
    resume_replicas();
    EXPECT_EQ(waiting.get(), std::error_code{});
}

TEST_F(replicated_grant, renewals_without_acks_do_not_count) {
    const event_recorder events{c};
    mutex stock{c, "stock", {.ttl = 3s, .renew = true, .replicas = {.at_least = 1, .within = 200ms}}};
    auto held = acquired(stock);
    EXPECT_TRUE(eventually(patience, [&] { return held.remaining() > 0s && c.stats().renewals > 0; }));
    pause_replicas();
    EXPECT_TRUE(events.has(event_kind::jeopardy));
    EXPECT_TRUE(eventually(patience, [&] { return held.state() == lease_state::lost; }));
    EXPECT_TRUE(events.has(event_kind::lost));
    resume_replicas();
}

TEST_F(replicated_grant, renewals_count_again_when_the_replicas_are_back) {
    const event_recorder events{c};
    mutex stock{c, "stock", {.ttl = 6s, .renew = true, .replicas = {.at_least = 2, .within = 200ms}}};
    auto held = acquired(stock);
    pause_replicas();
    EXPECT_TRUE(events.has(event_kind::jeopardy));
    resume_replicas();
    EXPECT_TRUE(events.has(event_kind::renewed));
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
}

// A master dies before its replica has the lock. No client's `valid()` can be right about that, unless a
// grant counts only once the replica has it.
class promotions : public replicated_grant {
  protected:
    // Whether two clients hold the lock when the replica replaces the master.
    bool two_hold_the_lock(const replication& wanted) {
        detach(one);
        detach(two);
        EXPECT_TRUE(eventually(patience, [&] { return connected() == 0; }));
        mutex before{c, "stock", {.replicas = wanted}};
        std::error_code why;
        const auto first = before.acquire(why);
        EXPECT_EQ(first ? std::error_code{} : make_error_code(errc::not_replicated), why);
        master.stop();
        one.command({"REPLICAOF", "NO", "ONE"});
        client after{settings(one.url())};
        const auto second = mutex{after, "stock"}.acquire();
        return first.valid() && second.valid();
    }
};

TEST_F(promotions, lose_a_grant_that_no_replica_had) { EXPECT_TRUE(two_hold_the_lock({})); }

TEST_F(promotions, lose_no_grant_that_a_majority_had) {
    EXPECT_FALSE(two_hold_the_lock(replication::majority_of(3)));
}

TEST_F(replicated_grant, is_available_on_the_command_line) {
    const auto run = [&](const std::string& how_many, const std::string& within) {
        auto command = cli::start_command({"--url", master.url(), "run", "--replicas", how_many,
                                           "--replicas-within", within, "stock", "--", "true"});
        return cli::outcome_of(command);
    };
    EXPECT_EQ(run("2", "9s").code, 0);
    const auto refused = run("3", "300ms");
    EXPECT_EQ(refused.code, 69);
    EXPECT_NE(refused.errors.find("2 of 3 replicas have it"), std::string::npos) << refused.errors;
    EXPECT_TRUE(eventually(patience, [&] { return !exists(master, "stock"); }));
}

TEST_F(replicated_grant, impossible_settings_are_refused_with_the_reason) {
    const auto text_of = [](auto fn) -> std::string {
        try {
            fn();
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::invalid_argument);
            return e.what();
        }
        return {};
    };
    EXPECT_NE(text_of([&] {
                  (void)mutex(c, "a", {.ttl = 1s, .replicas = {.at_least = 1, .within = 500ms}}).acquire();
              }).find("within must be less than a third of the lease"),
              std::string::npos);
    EXPECT_NE(text_of([&] {
                  (void)mutex(c, "a", {.replicas = {.at_least = 1, .within = 0ms}});
              }).find("1 ms or more"),
              std::string::npos);
    client here{settings("local:")};
    EXPECT_NE(
        text_of([&] { (void)mutex(here, "a", {.replicas = {.at_least = 1}}).acquire(); }).find("no replicas"),
        std::string::npos);
    EXPECT_EQ(replication::majority_of(2).at_least, 1U);
    EXPECT_EQ(replication::majority_of(3).at_least, 1U);
    EXPECT_EQ(replication::majority_of(5).at_least, 2U);
}

}  // namespace
}  // namespace holdfast::test
