// Taking a lock away: the holder that was shown is asked, and nobody else loses it.
#include "server/cli_scene.hpp"
#include "server/scene.hpp"

#include <hiredis/hiredis.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include <unistd.h>

namespace holdfast::test {
namespace {

using way = evicted_holder::way;

config keeping_evicted(const redis_server& server) {
    auto s = settings(server.url());
    s.keep_evicted = true;
    return s;
}

// The holders have been read by then.
command_predicate last_question_of_a_look(const std::string& name) {
    return [key = "holdfast:f1:{" + name + "}"](const auto& words) {
        return words[0] == "GET" && words.at(1) == key;
    };
}

template <class Kind>
class evict_of : public ::testing::Test {
  protected:
    // The client hears messages from now on, as one does that has waited once.
    void make_listen(client& c) {
        auto other = mutex{c, "waited for"};
        server.command({"SET", "waited for", "foreign", "PX", "60000"});
        auto waiting = waiter_for(other);
        ASSERT_TRUE(eventually(patience, [&] { return queued(server, "waited for") == 1; }));
        server.command({"DEL", "waited for"});
        ASSERT_TRUE(waiting.get());
    }

    // A user who can neither listen nor send messages.
    std::string without_channels() {
        server.command({"ACL", "SETUSER", "mute", "on", ">word", "~*", "resetchannels", "+@all"});
        return "redis://mute:word@127.0.0.1:" + std::to_string(server.port());
    }

    redis_server server;
    client holders{settings(server.url())};
    client operators{settings(server.url())};
};
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

TYPED_TEST(evict_of, a_holder_that_came_meanwhile_keeps_the_lock) {
    auto lock = TypeParam::make(this->holders, "job");
    lease first = lock.acquire();
    const auto shown = inspect(this->operators, "job");
    ASSERT_EQ(shown.holders.size(), 1U);
    ASSERT_TRUE(first.release());
    client later{settings(this->server.url())};
    auto other_lock = TypeParam::make(later, "job");
    lease second = other_lock.acquire();

    const auto end = evict(this->operators, "job", {.owners = {shown.holders[0].owner}});
    EXPECT_FALSE(end);
    ASSERT_TRUE(end.other);
    EXPECT_EQ(end.other->owner, second.owner().str());
    EXPECT_TRUE(second.valid());
    EXPECT_EQ(TypeParam::holder(this->server, "job"), second.owner().str());
    EXPECT_EQ(second.release(), release_outcome::released);
}

TYPED_TEST(evict_of, a_holder_that_came_after_it_had_begun_keeps_the_lock) {
    auto lock = TypeParam::make(this->holders, "job");
    lease first = lock.acquire();
    fault_proxy net{this->server};
    client far{settings(net.url())};
    net.hold_reply_of(last_question_of_a_look("job"));
    auto evicting = in_background([&] { return evict(far, "job"); });
    ASSERT_TRUE(eventually(patience, [&] { return net.count().replies_held == 1; }));
    ASSERT_TRUE(first.release());
    client later{settings(this->server.url())};
    auto other_lock = TypeParam::make(later, "job");
    lease second = other_lock.acquire();
    net.release_replies();

    const auto end = evicting.get();
    EXPECT_FALSE(end);
    ASSERT_TRUE(end.other);
    EXPECT_EQ(end.other->owner, second.owner().str());
    EXPECT_EQ(second.release(), release_outcome::released);
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

TYPED_TEST(evict_of, a_holder_that_keeps_evicted_locks_stops_before_the_lock_is_free) {
    client slow{keeping_evicted(this->server)};
    this->make_listen(slow);
    auto lock = TypeParam::make(slow, "job");
    lease held = lock.acquire();
    auto end = in_background([&] { return evict(this->operators, "job"); });
    ASSERT_TRUE(eventually(patience, [&] { return held.lost().stop_requested(); }));
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(exists(this->server, "job")) << "it is still at work";
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_EQ(end.get().from.at(0).how, way::gave_up);
    EXPECT_TRUE(TypeParam::make(this->operators, "job").try_acquire());
}

TYPED_TEST(evict_of, a_holder_that_keeps_evicted_locks_for_too_long_is_removed) {
    client slow{keeping_evicted(this->server)};
    this->make_listen(slow);
    auto lock = TypeParam::make(slow, "job");
    lease held = lock.acquire();
    const auto end = evict(this->operators, "job");
    EXPECT_FALSE(held.valid());
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, way::silent);
    EXPECT_GT(end.from[0].may_go_on, 0ms);
    EXPECT_FALSE(exists(this->server, "job"));
    auto other = TypeParam::make(this->operators, "job").try_acquire();
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(other.valid()) << "a late release takes it from nobody";
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

// --- other ways to hold -----------------------------------------------------------------------------

class evict_from : public evict_of<plain> {};

TEST_F(evict_from, all_readers_that_listen) {
    make_listen(holders);
    shared_mutex lock{holders, "job"};
    const lease one = lock.acquire_shared();
    client deaf{settings(without_channels())};
    shared_mutex other_lock{deaf, "job"};
    const lease two = other_lock.acquire_shared();
    const auto end = evict(operators, "job");
    ASSERT_EQ(end.from.size(), 2U);
    for (const auto& h : end.from)
        EXPECT_EQ(h.how, h.who.owner == one.owner().str() ? way::gave_up : way::unreachable);
    EXPECT_FALSE(one.valid());
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_from, a_reader_leaves_those_that_came_meanwhile) {
    shared_mutex lock{holders, "job"};
    const lease one = lock.acquire_shared();
    const auto shown = inspect(operators, "job").holders;
    client later{settings(server.url())};
    shared_mutex other_lock{later, "job"};
    lease two = other_lock.acquire_shared();
    ASSERT_EQ(shown.size(), 1U);
    const auto end = evict(operators, "job", {.owners = {shown[0].owner}});
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].who.owner, one.owner().str());
    EXPECT_EQ(two.release(), release_outcome::released);
}

TEST_F(evict_from, permits_in_two_ways_that_are_asked_for) {
    make_listen(holders);
    counting_semaphore seats{holders, "seats"};
    seats.try_set_permits(5);
    const lease counted = seats.acquire({.permits = 3});
    permit_semaphore slots{holders, "slots"};
    slots.try_set_permits(5);
    const lease several = slots.acquire({.permits = 3});
    for (const auto* const name : {"seats", "slots"}) {
        const auto end = evict(operators, name);
        ASSERT_FALSE(end.from.empty()) << name;
        for (const auto& h : end.from) EXPECT_EQ(h.how, way::gave_up) << name;
        EXPECT_EQ(inspect(operators, name).count, 5) << name;
    }
    EXPECT_FALSE(counted.valid());
    EXPECT_FALSE(several.valid());
}

TEST_F(evict_from, permits_of_one_lease_by_the_id_of_any) {
    make_listen(holders);
    permit_semaphore slots{holders, "slots"};
    slots.try_set_permits(5);
    for (std::size_t which = 0; which < 3; ++which) {
        const lease several = slots.acquire({.permits = 3});
        const auto shown = inspect(operators, "slots").holders;
        ASSERT_EQ(shown.size(), 3U);
        const auto end = evict(operators, "slots", {.owners = {shown[which].owner}});
        ASSERT_EQ(end.from.size(), 1U);
        EXPECT_EQ(end.from[0].how, way::gave_up);
        EXPECT_FALSE(several.valid());
        EXPECT_TRUE(eventually(patience, [&] { return inspect(operators, "slots").count == 5; }));
    }
}

TEST_F(evict_from, permits_of_one_lease_of_its_own_client) {
    permit_semaphore slots{holders, "slots"};
    slots.try_set_permits(5);
    const lease several = slots.acquire({.permits = 3});
    const auto end = evict(holders, "slots");
    ASSERT_EQ(end.from.size(), 3U);
    for (const auto& h : end.from) EXPECT_EQ(h.how, way::gave_up);
    EXPECT_FALSE(several.valid());
}

TEST_F(evict_from, more_permits_than_are_listed_at_a_time) {
    counting_semaphore seats{holders, "seats"};
    seats.try_set_permits(100);
    std::vector<lease> held;
    for (int i = 0; i < 70; ++i) held.push_back(seats.acquire());
    EXPECT_EQ(evict(operators, "seats").from.size(), 70U);
    EXPECT_EQ(inspect(operators, "seats").count, 100);
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

TEST_F(evict_from, those_who_had_permits_when_it_began_and_nobody_else) {
    make_listen(holders);
    constexpr std::int64_t permits = 80;  // more than are listed at a time
    counting_semaphore seats{holders, "seats"};
    seats.try_set_permits(permits);
    std::vector<lease> held;
    for (int i = 0; i < permits; ++i) held.push_back(seats.acquire());
    client later{settings(server.url())};
    counting_semaphore other_seats{later, "seats"};
    std::vector<std::future<lease>> waiting;
    for (int i = 0; i < permits; ++i) waiting.push_back(in_background([&] { return other_seats.acquire(); }));
    ASSERT_TRUE(eventually(patience, [&] {
        return server.command({"PUBSUB", "NUMSUB", "redisson_sc:{seats}"}).items.at(1).number > 0;
    }));
    const auto end = evict(operators, "seats");
    EXPECT_EQ(end.from.size(), held.size());
    for (const auto& h : held) EXPECT_FALSE(h.valid());
    for (auto& w : waiting) EXPECT_TRUE(w.get().valid());
}

TEST_F(evict_from, a_semaphore_whose_last_permit_has_just_come_back) {
    const std::string java = "0123456789abcdef";
    server.command({"SET", "slots", "4"});
    server.command({"ZADD", "{slots}:timeout", "4000000000000", java});
    ASSERT_EQ(inspect(operators, "slots").holders.size(), 1U);
    fault_proxy net{server};
    client far{settings(net.url())};
    net.hold_reply_of(last_question_of_a_look("slots"));
    auto evicting = in_background([&] { return evict(far, "slots"); });
    ASSERT_TRUE(eventually(patience, [&] { return net.count().replies_held == 1; }));
    server.command({"ZREM", "{slots}:timeout", java});
    server.command({"INCRBY", "slots", "1"});
    net.release_replies();
    EXPECT_FALSE(evicting.get());
    EXPECT_EQ(inspect(operators, "slots").count, 5);
}

TEST_F(evict_from, a_writer_that_reads_as_well_ends_both) {
    make_listen(holders);
    shared_mutex lock{holders, "job"};
    const lease writes = lock.acquire();
    const lease reads = lock.acquire_shared(writes);
    const auto end = evict(operators, "job");
    ASSERT_FALSE(end.from.empty());
    for (const auto& h : end.from) EXPECT_EQ(h.how, way::gave_up);
    EXPECT_FALSE(writes.valid());
    EXPECT_FALSE(reads.valid());
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_from, a_client_that_keeps_evicted_locks_until_the_last_nested_hold_is_released) {
    client slow{keeping_evicted(server)};
    make_listen(slow);
    recursive_mutex lock{slow, "job"};
    lease outer = lock.acquire();
    lease inner = lock.acquire(outer);
    auto end = in_background([&] { return evict(operators, "job"); });
    ASSERT_TRUE(eventually(patience, [&] { return outer.lost().stop_requested(); }));
    EXPECT_EQ(inner.release(), release_outcome::already_lost);
    (void)inspect(slow, "job");  // behind whatever it has sent
    EXPECT_TRUE(exists(server, "job")) << "the outer work goes on";
    EXPECT_EQ(outer.release(), release_outcome::already_lost);
    EXPECT_EQ(end.get().from.at(0).how, way::gave_up);
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_from, a_client_that_keeps_evicted_locks_until_a_writer_neither_writes_nor_reads) {
    client slow{keeping_evicted(server)};
    make_listen(slow);
    shared_mutex lock{slow, "job"};
    lease writes = lock.acquire();
    lease reads = lock.acquire_shared(writes);
    auto end = in_background([&] { return evict(operators, "job"); });
    ASSERT_TRUE(eventually(patience, [&] { return writes.lost().stop_requested(); }));
    EXPECT_EQ(writes.release(), release_outcome::already_lost);
    (void)inspect(slow, "job");  // behind whatever it has sent
    EXPECT_TRUE(exists(server, "job")) << "it reads";
    EXPECT_EQ(reads.release(), release_outcome::already_lost);
    for (const auto& h : end.get().from) EXPECT_EQ(h.how, way::gave_up);
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_from, a_client_that_keeps_evicted_locks_until_it_ends) {
    auto slow = std::make_unique<client>(keeping_evicted(server));
    make_listen(*slow);
    auto lock = std::make_unique<mutex>(*slow, "job");
    const lease held = lock->acquire();
    auto end = in_background([&] { return evict(operators, "job"); });
    ASSERT_TRUE(eventually(patience, [&] { return held.lost().stop_requested(); }));
    lock.reset();
    slow.reset();
    EXPECT_EQ(end.get().from.at(0).how, way::gave_up);
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_from, permits_say_how_long_each_may_go_on) {
    client deaf{settings(without_channels(), 20s)};
    counting_semaphore seats{deaf, "seats"};
    seats.try_set_permits(5);
    const lease counted = seats.acquire({.permits = 3});
    permit_semaphore slots{deaf, "slots"};
    slots.try_set_permits(5);
    const lease with_id = slots.acquire();
    for (const auto* const name : {"seats", "slots"}) {
        const auto end = evict(operators, name);
        ASSERT_EQ(end.from.size(), 1U) << name;
        ASSERT_TRUE(end.from[0].may_go_on) << name;
        EXPECT_GT(*end.from[0].may_go_on, 10s) << name;
        EXPECT_LE(*end.from[0].may_go_on, 20s) << name;
    }
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
    const auto from = end.get().from;
    ASSERT_EQ(from.size(), 1U);
    EXPECT_EQ(from[0].how, way::gone) << "it may believe to hold it";
}

TEST_F(evict_from_a_client_that, says_nothing_while_its_lease_ends) {
    holds_job_for(60s);
    auto end = evicting();
    ASSERT_FALSE(next_message().empty());
    server.command({"PEXPIRE", "job", "1"});
    const auto from = end.get().from;
    ASSERT_EQ(from.size(), 1U);
    EXPECT_EQ(from[0].how, way::gone);
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

// --- strings of others ------------------------------------------------------------------------------

TEST_F(evict_from, data_that_is_no_lock_needs_force) {
    server.command({"SET", "page", std::string(4096, 'x'), "PX", "60000"});
    server.command({"SET", "setting", "on"});
    for (const auto* const name : {"page", "setting"}) {
        EXPECT_EQ(code_of([&] { (void)evict(operators, name); }), errc::wrong_kind) << name;
        EXPECT_TRUE(exists(server, name)) << name;
        EXPECT_TRUE(inspect(operators, name).may_be_data());
    }
    EXPECT_EQ(inspect(operators, "page").bytes, 4096U);
    EXPECT_TRUE(evict(operators, "page", {.force = true}));
    EXPECT_TRUE(evict(operators, "setting", {.force = true}));
    EXPECT_FALSE(exists(server, "page"));
    EXPECT_FALSE(exists(server, "setting"));
}

TEST_F(evict_from, a_token_that_is_longer_than_what_is_shown_of_it) {
    const std::string token(200, 't');
    server.command({"SET", "job", token, "PX", "60000"});
    const auto shown = inspect(operators, "job").holders.at(0).owner;
    server.command({"SET", "job", std::string(199, 'u'), "PX", "60000"});
    EXPECT_FALSE(evict(operators, "job", {.owners = {shown}}));
    EXPECT_TRUE(exists(server, "job"));
    server.command({"SET", "job", token, "PX", "60000"});
    EXPECT_TRUE(evict(operators, "job", {.owners = {shown}}));
    EXPECT_FALSE(exists(server, "job"));
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

TEST(evict_local, holder_that_keeps_evicted_locks_stops_before_the_lock_is_free) {
    auto slowly = settings("local:evict");
    slowly.keep_evicted = true;
    client one{slowly};
    client two{settings("local:evict")};
    mutex lock{one, "job"};
    lease held = lock.acquire();
    auto end = in_background([&] { return evict(two, "job"); });
    ASSERT_TRUE(eventually(patience, [&] { return held.lost().stop_requested(); }));
    EXPECT_FALSE(mutex(two, "job").try_acquire());
    held.release();
    EXPECT_EQ(end.get().from.at(0).how, way::gave_up);
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

namespace holdfast::test::cli {
namespace {

class evict_command : public command_test {
  protected:
    [[nodiscard]] child_process holder() {
        auto one =
            start({"run", "--ttl", "3s", "--grace", "100ms", "a", "--", "sh", "-c", "echo held; read x"});
        EXPECT_TRUE(one.wait_for_output("held", patience));
        return one;
    }
    // It does when it has held the lock for a moment.
    [[nodiscard]] bool somebody_listens() {
        return eventually(patience, [&] {
            return server.command({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.size() == 1;
        });
    }
};

TEST_F(evict_command, says_that_the_holder_gave_it_up) {
    auto one = holder();
    ASSERT_TRUE(somebody_listens());
    const auto end = run({"evict", "--yes", "a"});
    EXPECT_EQ(end.code, 0);
    EXPECT_NE(end.output.find(":" + std::to_string(one.pid()) + " gave it up\n"), std::string::npos)
        << end.output;
    EXPECT_EQ(outcome_of(one).code, 75);
}

TEST_F(evict_command, ends_a_command_before_the_next_one_begins) {
    const auto log = testing::TempDir() + "evicted-" + std::to_string(::getpid());
    std::ofstream{log};
    auto one = start({"run", "a", "--", "sh", "-c",
                      "trap 'sleep 0.3; echo ended >> " + log + "; exit 0' TERM; echo began >> " + log +
                          "; echo held; while :; do sleep 0.02; done"});
    ASSERT_TRUE(one.wait_for_output("held", patience));
    ASSERT_TRUE(somebody_listens());
    auto next = start({"run", "a", "--", "sh", "-c", "echo next >> " + log});
    ASSERT_TRUE(eventually(patience, [&] { return queued(server, "a") == 1; }));
    const auto end = run({"evict", "--yes", "a"});
    EXPECT_NE(end.output.find(" gave it up\n"), std::string::npos) << end.output;
    EXPECT_EQ(outcome_of(next).code, 0);
    EXPECT_EQ(outcome_of(one).code, 75);
    std::ifstream in{log};
    EXPECT_EQ((std::string{std::istreambuf_iterator<char>{in}, {}}), "began\nended\nnext\n");
    std::remove(log.c_str());
}

TEST_F(evict_command, says_for_how_long_a_holder_that_did_not_answer_may_go_on) {
    auto one = holder();
    ASSERT_TRUE(somebody_listens());
    one.pause();
    const auto end = nlohmann::json::parse(run({"evict", "--yes", "--json", "a"}).output);
    EXPECT_EQ(end["evicted"], true);
    EXPECT_EQ(end["from"][0]["how"], "silent");
    EXPECT_GT(end["from"][0]["may_go_on_ms"], 0);
    EXPECT_LT(end["from"][0]["may_go_on_ms"], 3000);
    EXPECT_FALSE(is_held("a"));
    one.resume();
}

TEST_F(evict_command, says_that_a_holder_does_not_listen_or_is_of_another_make) {
    server.command({"ACL", "SETUSER", "mute", "on", ">word", "~*", "resetchannels", "+@all"});
    auto one = start({"run", "--url", "redis://mute:word@127.0.0.1:" + std::to_string(server.port()), "a",
                      "--", "sh", "-c", "echo held; read x"});
    ASSERT_TRUE(one.wait_for_output("held", patience));
    const auto deaf = run({"evict", "--yes", "a"}).output;
    EXPECT_NE(deaf.find(" does not listen, may go on for "), std::string::npos) << deaf;
    hold_as_another_client("b");
    const auto foreign = run({"evict", "--yes", "b"}).output;
    EXPECT_NE(foreign.find("another client cannot be asked, may go on for "), std::string::npos) << foreign;
}

TEST_F(evict_command, removes_what_may_be_data_by_force_only) {
    server.command({"SET", "page", std::string(4096, 'x')});
    const auto refused = run({"evict", "--yes", "page"});
    EXPECT_EQ(refused.code, 64);
    EXPECT_NE(refused.errors.find("a string of 4096 bytes that does not expire"), std::string::npos)
        << refused.errors;
    EXPECT_TRUE(is_held("page"));
    EXPECT_NE(run({"inspect", "page"}).output.find("a string of 4096 bytes that does not expire"),
              std::string::npos);
    EXPECT_EQ(run({"evict", "--yes", "--force", "page"}).code, 0);
    EXPECT_FALSE(is_held("page"));
}

}  // namespace
}  // namespace holdfast::test::cli
