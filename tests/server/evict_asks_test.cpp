// Evict asks the holder before it removes anything: what the holder does then, and what evict reports.
#include "server/evict_scene.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace holdfast::test {
namespace {

using way = evicted_holder::way;

TYPED_TEST_SUITE(evict_kinds, all_kinds, kind_names);

TYPED_TEST(evict_kinds, listening_holder_ends_its_lease_before_the_lock_is_free) {
    this->make_listen(this->holders);
    const event_recorder events{this->holders};
    auto lock = TypeParam::make(this->holders, "job");
    lease held = lock.acquire();
    const auto end = evict(this->operators, "job", unhurried);
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::gave_up);
    EXPECT_EQ(end.from[0].who.owner, held.owner().str());
    EXPECT_FALSE(end.from[0].may_go_on);
    EXPECT_FALSE(held.valid()) << "it gave the lock up, so it knows";
    EXPECT_FALSE(exists(this->server, "job"));
    EXPECT_TRUE(events.has(event_kind::lost));
    EXPECT_NE(events.last(event_kind::lost).detail.find("evicted"), std::string::npos);
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(TypeParam::make(this->operators, "job").try_acquire());
}

TYPED_TEST(evict_kinds, holder_without_the_right_to_listen_is_removed) {
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

TYPED_TEST(evict_kinds, new_holder_that_never_waited_is_asked) {
    auto lock = TypeParam::make(this->holders, "job");
    const lease held = lock.acquire();
    const auto end = evict(this->operators, "job", unhurried);
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::gave_up);
    EXPECT_FALSE(held.valid());
}

TYPED_TEST(evict_kinds, lease_is_invalid_before_the_store_frees_the_lock) {
    fault_proxy net{this->server};
    client slow{settings(net.url())};
    this->make_listen(slow);
    auto lock = TypeParam::make(slow, "job");
    const lease held = lock.acquire();
    const auto is_gave_up_message = [&](const auto& words) {
        return words[0] == "PUBLISH" && words.at(2).find(" gave_up ") != std::string::npos;
    };
    net.hold_reply_of(TypeParam::leave());
    auto evicting = in_background([&] { return evict(this->operators, "job", unhurried); });
    ASSERT_TRUE(eventually(patience, [&] { return net.count().replies_held == 1; }));
    EXPECT_FALSE(held.valid());
    const auto passed = net.commands();
    const auto message = std::find_if(passed.begin(), passed.end(), is_gave_up_message);
    EXPECT_TRUE(std::any_of(message, passed.end(), TypeParam::leave()))
        << "it reports that it gave up, and then releases the lock";
    net.release_replies();
    EXPECT_EQ(evicting.get().from.at(0).how, way::gave_up);
}

TYPED_TEST(evict_kinds, lease_of_the_evicting_client_itself_ends_at_once) {
    auto lock = TypeParam::make(this->holders, "job");
    lease held = lock.acquire();
    const auto end = evict(this->holders, "job", unhurried);
    EXPECT_FALSE(held.valid());
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::gave_up);
    EXPECT_FALSE(exists(this->server, "job"));
}

TYPED_TEST(evict_kinds, evicted_lock_goes_to_the_waiter) {
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

TEST_F(evict_test, user_without_channels_removes_without_asking) {
    make_listen(holders);
    client mute{settings(without_channels())};
    mutex lock{holders, "job"};
    const lease held = lock.acquire();
    const auto end = evict(mute, "job");
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::unreachable);
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_test, message_for_an_ended_lease_has_no_effect) {
    make_listen(holders);
    mutex lock{holders, "job"};
    lease held = lock.acquire();
    const auto owner = held.owner().str();
    ASSERT_TRUE(held.release());
    lease next = lock.acquire();
    server.command({"PUBLISH", "holdfast:wake:" + owner.substr(0, 22),
                    owner + " evicted " + std::string(22, 'A') + " job"});
    // The same thread reads this message after it.
    server.command({"SET", "marker", owner.substr(0, 22) + "|17", "PX", "60000"});
    server.command({"PUBLISH", "holdfast:wake:" + owner.substr(0, 22), owner.substr(0, 22) + "|17 1 marker"});
    EXPECT_TRUE(eventually(patience, [&] { return !exists(server, "marker"); }));
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(next.release(), release_outcome::released);
}

// --- answers ----------------------------------------------------------------------------------------

// A holder that listens and does what the test wants.
class scripted_client : public evict_kinds<plain> {
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
    std::future<eviction> evicting(const std::string& name = "job", evict_options how = {}) {
        return in_background([=, this] { return evict(operators, name, how); });
    }

    const std::string id = std::string(22, 'A');
    const std::string owner = id + "|1790000000000000";
    const std::string uuid =
        "00000000-0000-0000-0000-000000000000";  // the same client, as Redisson writes it

  private:
    void ask(const std::string& command) {
        const std::unique_ptr<void, free_context> reply{redisCommand(listener_.get(), command.c_str())};
        ASSERT_TRUE(reply);
    }

    std::unique_ptr<redisContext, free_context> listener_;
};

TEST_F(scripted_client, gives_up_and_releases) {
    holds_job_for(60s);
    auto end = evicting("job", unhurried);
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

// Its release and its message travel on different connections.
TEST_F(scripted_client, whose_message_arrives_late_gave_up) {
    bool in_time = false;
    for (int play = 0; play < 20 && !in_time; ++play) {
        holds_job_for(60s);
        const auto began = std::chrono::steady_clock::now();
        auto end = evicting("job", {.wait = 200ms});
        const auto asked = next_message();
        ASSERT_EQ(asked.size(), 4U);
        server.command({"DEL", "job"});
        const auto told = [&] { return std::chrono::steady_clock::now() - began; };
        ASSERT_TRUE(eventually(patience, [&] { return told() > 300ms; }));
        server.command({"PUBLISH", "holdfast:wake:" + asked[2], owner + " gave_up job"});
        in_time = told() < 900ms;
        const auto from = end.get().from;
        if (!in_time) continue;
        ASSERT_EQ(from.size(), 1U);
        EXPECT_EQ(from[0].how, way::gave_up);
    }
    EXPECT_TRUE(in_time);
}

TEST_F(scripted_client, gives_up_and_cannot_release) {
    holds_job_for(60s);
    auto end = evicting("job", unhurried);
    const auto asked = next_message();
    ASSERT_EQ(asked.size(), 4U);
    server.command({"PUBLISH", "holdfast:wake:" + asked[2], owner + " gave_up job"});
    const stopwatch since;
    const auto from = end.get().from;
    EXPECT_LT(since.took(), 3s + slack) << "its release is not waited for as long as its answer";
    ASSERT_EQ(from.size(), 1U);
    EXPECT_EQ(from[0].how, way::gave_up) << "it no longer relies on its lease";
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(scripted_client, is_silent_while_another_client_removes_the_lock) {
    holds_job_for(60s);
    auto end = evicting();
    ASSERT_FALSE(next_message().empty());
    server.command({"DEL", "job"});
    const auto result = end.get();
    EXPECT_FALSE(result) << "it took nothing away";
    EXPECT_TRUE(result.from.empty());
    ASSERT_EQ(result.gone.size(), 1U);
    EXPECT_EQ(result.gone[0].owner, owner);
}

TEST_F(scripted_client, is_silent_while_its_lease_ends) {
    holds_job_for(60s);
    auto end = evicting();
    ASSERT_FALSE(next_message().empty());
    server.command({"PEXPIRE", "job", "1"});
    const auto result = end.get();
    EXPECT_FALSE(result);
    EXPECT_EQ(result.gone.size(), 1U);
}

TEST_F(scripted_client, gives_up_for_one_of_two_operators_that_evict_at_once) {
    holds_job_for(60s);
    auto first = evicting("job", unhurried);
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

TEST_F(scripted_client, that_is_silent_may_go_on_for_the_time_left_when_it_is_removed) {
    // Another reader cannot be asked, and renews its lease while this one is asked.
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

TEST_F(scripted_client, that_is_silent_has_the_operators_time_for_all_that_it_holds) {
    const auto wait = 1s * slower;
    server.command({"SET", "seats", "100"});
    for (int i = 0; i < 100; ++i)
        server.command({"ZADD", "holdfast:p1:{seats}", "4000000000000",
                        owner.substr(0, 36) + std::to_string(100 + i) + "|1"});
    const stopwatch time;
    const auto end = evict(operators, "seats", {.wait = wait});
    EXPECT_EQ(end.from.size(), 100U);
    for (const auto& h : end.from) EXPECT_EQ(h.how, way::silent);
    EXPECT_LT(time.took(), wait + slack);
}

// --- a queue ----------------------------------------------------------------------------------------

TEST_F(scripted_client, is_no_dead_waiter_if_it_listens_again_soon) {
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

// The holder that cannot be asked uses up the second for holders.
TEST_F(evict_test, queue_has_its_own_second_for_an_absent_waiter) {
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
    // Evict asks after 5 ms, then after twice as long, and at last every 100 ms.
    ASSERT_TRUE(eventually(patience, [&] { return asked() >= 10; }));
    const stopwatch watch;
    (void)held.release();
    const auto end = evicting.get();
    // On a busy machine the second may have passed: then the holder was removed before.
    if (end.from.empty()) {
        EXPECT_EQ(end.dead_waiters, 1U);
        EXPECT_GE(watch.took(), 1s);
    }
}

TEST_F(evict_test, waiter_that_polls_because_it_may_not_listen_stays_in_the_queue) {
    const auto dead = std::string{"0d2b3c47-0c5e-4a45-9f9e-000000000000:1"};
    server.command({"RPUSH", "redisson_lock_queue:{job}", dead});
    server.command({"ZADD", "redisson_lock_timeout:{job}", "4000000000000", dead});
    auto patient = settings(without_channels());
    patient.redis.fair_liveness = 60s;
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

TEST(evict_local, lease_of_another_client_ends_at_once) {
    client one{settings("local:evict")};
    client two{settings("local:evict")};
    mutex lock{one, "job"};
    lease held = lock.acquire();
    const auto end = evict(two, "job", unhurried);
    EXPECT_FALSE(held.valid());
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::gave_up);
    EXPECT_TRUE(mutex(two, "job").try_acquire());
}

TEST(evict_redlock, listening_holder_gives_up_the_lock_on_all_members) {
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
    const auto end = evict(operators, "job", unhurried);
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::gave_up);
    EXPECT_FALSE(held.valid());
    for (auto* const s : {&one, &two, &three}) EXPECT_FALSE(exists(*s, "job"));
}

}  // namespace
}  // namespace holdfast::test
