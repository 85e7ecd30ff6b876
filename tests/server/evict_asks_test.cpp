// Before evict removes anything it asks the holder: what the holder does then, and what evict says of it.
#include "server/evict_scene.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace holdfast::test {
namespace {

using way = evicted_holder::way;

TYPED_TEST_SUITE(evict_of, all_kinds, kind_names);

TYPED_TEST(evict_of, a_holder_that_listens_ends_its_lease_before_the_lock_is_free) {
    this->make_listen(this->holders);
    const diary events{this->holders};
    auto lock = TypeParam::make(this->holders, "job");
    lease held = lock.acquire();
    const auto end = evict(this->operators, "job");
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::gave_up);
    EXPECT_EQ(end.from[0].who.owner, held.owner().str());
    EXPECT_FALSE(end.from[0].may_go_on);
    EXPECT_FALSE(held.valid()) << "it gave the lock up, so it knows";
    EXPECT_FALSE(exists(this->server, "job"));
    EXPECT_TRUE(events.has(event_kind::lost));
    EXPECT_NE(events.last(event_kind::lost).detail.find("evicted"), std::string::npos);
    EXPECT_TRUE(eventually(patience, [&] { return held.lost().stop_requested(); }));
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(TypeParam::make(this->operators, "job").try_acquire());
}

TYPED_TEST(evict_of, a_holder_that_has_no_right_to_listen_is_removed) {
    client deaf{settings(this->without_channels())};
    auto lock = TypeParam::make(deaf, "job");
    const lease held = lock.acquire();
    const auto end = evict(this->operators, "job");
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::unreachable);
    ASSERT_TRUE(end.from[0].may_go_on);
    EXPECT_GT(*end.from[0].may_go_on, 20s);
    EXPECT_LE(*end.from[0].may_go_on, 30s);
    EXPECT_FALSE(exists(this->server, "job"));
}

TYPED_TEST(evict_of, a_holder_that_has_just_got_the_lock_and_never_waited_is_asked) {
    auto lock = TypeParam::make(this->holders, "job");
    const lease held = lock.acquire();
    const auto end = evict(this->operators, "job");
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::gave_up);
    EXPECT_FALSE(held.valid());
}

TYPED_TEST(evict_of, a_holder_believes_no_more_before_the_store_frees_the_lock) {
    fault_proxy net{this->server};
    client slow{settings(net.url())};
    this->make_listen(slow);
    auto lock = TypeParam::make(slow, "job");
    const lease held = lock.acquire();
    const auto told = [&](const auto& words) {
        return words[0] == "PUBLISH" && words.at(2).find(" gave_up ") != std::string::npos;
    };
    net.hold_reply_of(TypeParam::leave());
    auto evicting = in_background([&] { return evict(this->operators, "job"); });
    ASSERT_TRUE(eventually(patience, [&] { return net.count().replies_held == 1; }));
    EXPECT_FALSE(held.valid());
    const auto passed = net.commands();
    const auto said = std::find_if(passed.begin(), passed.end(), told);
    EXPECT_TRUE(std::any_of(said, passed.end(), TypeParam::leave()))
        << "it says that it has given up, and then the lock goes to the next one";
    net.release_replies();
    EXPECT_EQ(evicting.get().from.at(0).how, way::gave_up);
}

TYPED_TEST(evict_of, a_holder_of_its_own_client_is_over_at_once) {
    auto lock = TypeParam::make(this->holders, "job");
    lease held = lock.acquire();
    const auto end = evict(this->holders, "job");
    EXPECT_FALSE(held.valid());
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::gave_up);
    EXPECT_FALSE(exists(this->server, "job"));
}

TYPED_TEST(evict_of, a_holder_gives_way_to_who_waits) {
    this->make_listen(this->holders);
    auto lock = TypeParam::make(this->holders, "job");
    const lease held = lock.acquire();
    client later{settings(this->server.url())};
    auto other_lock = TypeParam::make(later, "job");
    auto waiting = waiter_for(other_lock);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    const auto end = evict(this->operators, "job");
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].who.owner, held.owner().str());
    const auto next = waiting.get();
    EXPECT_TRUE(next.valid());
    EXPECT_FALSE(held.valid());
}

TEST_F(evict_from, a_user_without_channels) {
    make_listen(holders);
    client mute{settings(without_channels())};
    mutex lock{holders, "job"};
    const lease held = lock.acquire();
    const auto end = evict(mute, "job");
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::unreachable);
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_from, nobody_with_a_message_for_a_lease_that_is_over) {
    make_listen(holders);
    mutex lock{holders, "job"};
    lease held = lock.acquire();
    const auto owner = held.owner().str();
    ASSERT_TRUE(held.release());
    lease next = lock.acquire();
    server.command({"PUBLISH", "holdfast:wake:" + owner.substr(0, 22),
                    owner + " evicted " + std::string(22, 'A') + " job"});
    // Read by the same thread after it.
    server.command({"SET", "marker", owner.substr(0, 22) + "|17", "PX", "60000"});
    server.command({"PUBLISH", "holdfast:wake:" + owner.substr(0, 22), owner.substr(0, 22) + "|17 1 marker"});
    EXPECT_TRUE(eventually(patience, [&] { return !exists(server, "marker"); }));
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(next.release(), release_outcome::released);
}

// --- answers ----------------------------------------------------------------------------------------

// Clients that hold, listen, and do what the test wants.
class evict_from_a_client_that : public evict_of<plain> {
  protected:
    struct free_context {
        void operator()(redisContext* c) const { redisFree(c); }
        void operator()(void* r) const { freeReplyObject(r); }
    };

    void SetUp() override {
        listener_.reset(redisConnect("127.0.0.1", server.port()));
        ASSERT_TRUE(listener_ && listener_->err == 0);
        ask("CLIENT SETNAME holdfast:" + id + ":1:elsewhere:program");
        ask("SUBSCRIBE holdfast:wake:" + id);
    }
    // The words of the next message that asks for a lock.
    std::vector<std::string> next_message() {
        void* got = nullptr;
        if (redisGetReply(listener_.get(), &got) != REDIS_OK) return {};
        const std::unique_ptr<void, free_context> owned{got};
        const auto& reply = *static_cast<redisReply*>(got);
        std::istringstream text{std::string{reply.element[2]->str, reply.element[2]->len}};
        return {std::istream_iterator<std::string>{text}, {}};
    }
    void listens_to(const std::string& channel) { ask("SUBSCRIBE " + channel); }
    void holds_job_for(milliseconds lease) {
        server.command({"SET", "job", owner, "PX", std::to_string(lease.count())});
    }
    std::future<eviction> evicting(const std::string& name = "job") {
        return in_background([this, name] { return evict(operators, name); });
    }

    const std::string id = std::string(22, 'A');
    const std::string owner = id + "|1790000000000000";
    const std::string uuid =
        "00000000-0000-0000-0000-000000000000";  // the same client, as Redisson writes it

  private:
    void ask(const std::string& command) {
        const std::unique_ptr<void, free_context> said{redisCommand(listener_.get(), command.c_str())};
        ASSERT_TRUE(said);
    }

    std::unique_ptr<redisContext, free_context> listener_;
};

TEST_F(evict_from_a_client_that, says_so_and_releases) {
    holds_job_for(60s);
    auto end = evicting();
    const auto asked = next_message();
    ASSERT_EQ(asked.size(), 4U);
    EXPECT_EQ(asked[0], owner);
    EXPECT_EQ(asked[1], "evicted");
    EXPECT_EQ(asked[3], "job");
    server.command({"PUBLISH", "holdfast:wake:" + asked[2], owner + " gave_up job"});
    server.command({"DEL", "job"});
    const auto from = end.get().from;
    ASSERT_EQ(from.size(), 1U);
    EXPECT_EQ(from[0].how, way::gave_up);
}

TEST_F(evict_from_a_client_that, says_so_and_cannot_release) {
    holds_job_for(60s);
    auto end = evicting();
    const auto asked = next_message();
    ASSERT_EQ(asked.size(), 4U);
    server.command({"PUBLISH", "holdfast:wake:" + asked[2], owner + " gave_up job"});
    const auto from = end.get().from;
    ASSERT_EQ(from.size(), 1U);
    EXPECT_EQ(from[0].how, way::gave_up) << "it believes no more";
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_from_a_client_that, says_nothing_while_somebody_else_removes_the_lock) {
    holds_job_for(60s);
    auto end = evicting();
    ASSERT_FALSE(next_message().empty());
    server.command({"DEL", "job"});
    const auto told = end.get();
    EXPECT_FALSE(told) << "it took nothing away";
    EXPECT_TRUE(told.from.empty());
    ASSERT_EQ(told.gone.size(), 1U);
    EXPECT_EQ(told.gone[0].owner, owner);
}

TEST_F(evict_from_a_client_that, says_nothing_while_its_lease_ends) {
    holds_job_for(60s);
    auto end = evicting();
    ASSERT_FALSE(next_message().empty());
    server.command({"PEXPIRE", "job", "1"});
    const auto told = end.get();
    EXPECT_FALSE(told);
    EXPECT_EQ(told.gone.size(), 1U);
}

TEST_F(evict_from_a_client_that, gives_up_for_one_of_two_operators_who_evict_at_once) {
    holds_job_for(60s);
    auto first = evicting();
    const auto asked = next_message();
    ASSERT_EQ(asked.size(), 4U);
    client others{settings(server.url())};
    auto second = in_background([&] { return evict(others, "job"); });
    for (auto next = asked; next[2] == asked[2];) {
        next = next_message();
        ASSERT_EQ(next.size(), 4U);
    }
    server.command({"PUBLISH", "holdfast:wake:" + asked[2], owner + " gave_up job"});
    server.command({"DEL", "job"});
    const auto taken = first.get(), late = second.get();
    EXPECT_TRUE(taken);
    EXPECT_TRUE(taken.gone.empty());
    EXPECT_FALSE(late) << "the other one took it";
    ASSERT_EQ(late.gone.size(), 1U);
    EXPECT_EQ(late.gone[0].owner, owner);
}

TEST_F(evict_from_a_client_that, says_nothing_may_go_on_for_what_is_left_when_it_is_removed) {
    // Another reader cannot be asked, and prolongs its lease while this one is.
    const auto reader = uuid + ":1790000000000000",
               foreign = std::string{"0d2b3c47-0c5e-4a45-9f9e-000000000000:1"};
    server.command({"HSET", "job", "mode", "read", reader, "1", foreign, "1"});
    server.command({"PEXPIRE", "job", "10000"});
    for (const auto& one : {reader, foreign})
        server.command({"SET", "{job}:" + one + ":rwlock_timeout:1", "1", "PX", "90000"});
    auto end = evicting();
    ASSERT_FALSE(next_message().empty());
    server.command({"PEXPIRE", "job", "90000"});
    const auto from = end.get().from;
    ASSERT_EQ(from.size(), 2U);
    for (const auto& h : from) {
        ASSERT_TRUE(h.may_go_on);
        EXPECT_EQ(h.how, h.who.owner == foreign ? way::unreachable : way::silent);
    }
    EXPECT_GT(std::max(*from[0].may_go_on, *from[1].may_go_on), 60s);
}

TEST_F(evict_from_a_client_that, says_nothing_has_one_second_for_all_that_it_holds) {
    server.command({"SET", "seats", "100"});
    for (int i = 0; i < 100; ++i)
        server.command({"ZADD", "holdfast:p1:{seats}", "4000000000000",
                        owner.substr(0, 36) + std::to_string(100 + i) + "|1"});
    const stopwatch time;
    const auto end = evict(operators, "seats");
    EXPECT_EQ(end.from.size(), 100U);
    for (const auto& h : end.from) EXPECT_EQ(h.how, way::silent);
    EXPECT_LT(time.took(), 1s + slack);
}

// --- a line -----------------------------------------------------------------------------------------

TEST_F(evict_from_a_client_that, waits_in_a_fair_line_and_is_away_for_a_moment_only) {
    const auto java = std::string{"0d2b3c47-0c5e-4a45-9f9e-000000000000:1"};
    server.command({"RPUSH", "redisson_lock_queue:{job}", java});
    server.command({"ZADD", "redisson_lock_timeout:{job}", "4000000000000", java});
    ASSERT_EQ(inspect(operators, "job").dead_waiters, 1U);
    const auto looks = [&] {
        const auto text = server.command({"INFO", "commandstats"}).text;
        const auto at = text.find("cmdstat_pubsub|numsub:calls=");
        return at == std::string::npos ? 0 : std::stoi(text.substr(at + 28));
    };
    const auto before = looks();
    auto end = evicting();
    ASSERT_TRUE(eventually(patience, [&] { return looks() >= before + 2; }));
    listens_to(channel_of("job") + ":" + java);
    const auto done = end.get();
    EXPECT_EQ(done.dead_waiters, 0U);
    EXPECT_EQ(done.waiters_back, 1U);
    EXPECT_FALSE(done);
    EXPECT_EQ(server.command({"LLEN", "redisson_lock_queue:{job}"}).number, 1);
}

// The holder that could not be asked has used up the second of the holders.
TEST_F(evict_from, a_line_waits_a_second_of_its_own_for_a_waiter_that_is_away) {
    client deaf{settings(without_channels())};
    fair_mutex lock{deaf, "job"};
    lease held = lock.acquire();
    const auto java = std::string{"0d2b3c47-0c5e-4a45-9f9e-000000000000:1"};
    server.command({"RPUSH", "redisson_lock_queue:{job}", java});
    server.command({"ZADD", "redisson_lock_timeout:{job}", "4000000000000", java});
    fault_proxy net{server};
    client far{settings(net.url())};
    const auto asked = [&] { return net.count_of(runs(redis_scripts::evict_ask)); };
    auto evicting = in_background([&] { return evict(far, "job"); });
    // It is asked after 5 ms, then after twice as long, and at last every 100 ms.
    ASSERT_TRUE(eventually(patience, [&] { return asked() >= 10; }));
    const stopwatch watch;
    (void)held.release();
    const auto end = evicting.get();
    // A busy machine may have let the second pass: then the holder was removed before.
    if (end.from.empty()) {
        EXPECT_EQ(end.dead_waiters, 1U);
        EXPECT_GE(watch.took(), 1s);
    }
}

TEST_F(evict_from, a_line_leaves_a_waiter_that_asks_because_it_may_not_listen) {
    const auto dead = std::string{"0d2b3c47-0c5e-4a45-9f9e-000000000000:1"};
    server.command({"RPUSH", "redisson_lock_queue:{job}", dead});
    server.command({"ZADD", "redisson_lock_timeout:{job}", "4000000000000", dead});
    auto patient = settings(without_channels());
    patient.fair_liveness = 60s;
    client polling{patient};
    fair_mutex lock{polling, "job"};
    auto waiting = waiter_for(lock);
    ASSERT_TRUE(eventually(patience, [&] { return fair::waiters(server, "job") == 2; }));
    EXPECT_EQ(inspect(operators, "job").dead_waiters, 1U);
    const auto end = evict(operators, "job");
    EXPECT_EQ(end.dead_waiters, 1U);
    EXPECT_TRUE(waiting.get().valid());
}

// --- several servers, and none ----------------------------------------------------------------------

TEST(evict_local, holder_of_another_client_is_over_at_once) {
    client one{settings("local:evict")};
    client two{settings("local:evict")};
    mutex lock{one, "job"};
    lease held = lock.acquire();
    const auto end = evict(two, "job");
    EXPECT_FALSE(held.valid());
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::gave_up);
    EXPECT_TRUE(mutex(two, "job").try_acquire());
}

TEST(evict_redlock, holder_that_listens_gives_the_lock_up_on_all_members) {
    redis_server one;
    redis_server two;
    redis_server three;
    const auto url = "redlock:restarts=trusted," + one.url() + "," + two.url() + "," + three.url();
    client holders{settings(url, 3s)};
    client operators{settings(url)};
    mutex lock{holders, "job"};
    const lease held = lock.acquire();
    ASSERT_TRUE(eventually(patience, [&] {
        return one.command({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.size() == 1;
    })) << "it has renewed";
    const auto end = evict(operators, "job");
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::gave_up);
    EXPECT_FALSE(held.valid());
    for (auto* const s : {&one, &two, &three}) EXPECT_FALSE(exists(*s, "job"));
}

}  // namespace
}  // namespace holdfast::test
