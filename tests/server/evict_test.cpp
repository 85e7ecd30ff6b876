// What evict removes: the holds of the holders that were shown, and no others.
#include "server/evict_scene.hpp"

namespace holdfast::test {
namespace {

using way = evicted_holder::way;

// By then the inspection has read the holders.
command_predicate last_command_of_an_inspection(const std::string& name) {
    return [key = "holdfast:f1:{" + name + "}"](const auto& words) {
        return words[0] == "GET" && words.at(1) == key;
    };
}

TYPED_TEST_SUITE(evict_kinds, all_kinds, kind_names);

TYPED_TEST(evict_kinds, holder_that_came_after_the_inspection_keeps_the_lock) {
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

TYPED_TEST(evict_kinds, holder_that_came_during_the_eviction_keeps_the_lock) {
    auto lock = TypeParam::make(this->holders, "job");
    lease first = lock.acquire();
    fault_proxy net{this->server};
    client far{settings(net.url())};
    net.hold_reply_of(last_command_of_an_inspection("job"));
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

// --- other ways to hold -----------------------------------------------------------------------------

TEST_F(evict_test, all_readers_are_removed_and_those_that_listen_are_asked) {
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

TEST_F(evict_test, readers_that_came_after_the_inspection_keep_the_lock) {
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

TEST_F(evict_test, holders_of_permits_with_and_without_ids_are_asked) {
    make_listen(holders);
    counting_semaphore seats{holders, "seats"};
    seats.try_set_permits(5);
    const lease counted = seats.acquire({.permits = 3});
    permit_semaphore slots{holders, "slots"};
    slots.try_set_permits(5);
    const lease several = slots.acquire({.permits = 3});
    for (const auto* const name : {"seats", "slots"}) {
        const auto end = evict(operators, name, unhurried);
        ASSERT_FALSE(end.from.empty()) << name;
        for (const auto& h : end.from) EXPECT_EQ(h.how, way::gave_up) << name;
        EXPECT_EQ(inspect(operators, name).count, 5) << name;
    }
    EXPECT_FALSE(counted.valid());
    EXPECT_FALSE(several.valid());
}

TEST_F(evict_test, id_of_any_permit_evicts_all_permits_of_its_lease) {
    make_listen(holders);
    permit_semaphore slots{holders, "slots"};
    slots.try_set_permits(5);
    for (std::size_t which = 0; which < 3; ++which) {
        const lease several = slots.acquire({.permits = 3});
        const auto shown = inspect(operators, "slots").holders;
        ASSERT_EQ(shown.size(), 3U);
        const auto end = evict(operators, "slots", {.owners = {shown[which].owner}, .wait = patience});
        ASSERT_EQ(end.from.size(), 1U);
        EXPECT_EQ(end.from[0].how, way::gave_up);
        EXPECT_FALSE(several.valid());
        EXPECT_TRUE(eventually(patience, [&] { return inspect(operators, "slots").count == 5; }));
    }
}

TEST_F(evict_test, permits_of_the_evicting_client_itself_are_removed) {
    permit_semaphore slots{holders, "slots"};
    slots.try_set_permits(5);
    const lease several = slots.acquire({.permits = 3});
    const auto end = evict(holders, "slots", unhurried);
    ASSERT_EQ(end.from.size(), 3U);
    for (const auto& h : end.from) EXPECT_EQ(h.how, way::gave_up);
    EXPECT_FALSE(several.valid());
}

TEST_F(evict_test, more_permits_than_are_listed_at_once_are_removed) {
    counting_semaphore seats{holders, "seats"};
    seats.try_set_permits(100);
    std::vector<lease> held;
    for (int i = 0; i < 70; ++i) held.push_back(seats.acquire());
    EXPECT_EQ(evict(operators, "seats").from.size(), 70U);
    EXPECT_EQ(inspect(operators, "seats").count, 100);
}

TEST_F(evict_test, only_permits_held_at_the_start_are_removed) {
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

TEST_F(evict_test, permit_that_was_just_returned_is_not_returned_twice) {
    const std::string java = "0123456789abcdef";
    server.command({"SET", "slots", "4"});
    server.command({"ZADD", "{slots}:timeout", "4000000000000", java});
    ASSERT_EQ(inspect(operators, "slots").holders.size(), 1U);
    fault_proxy net{server};
    client far{settings(net.url())};
    net.hold_reply_of(last_command_of_an_inspection("slots"));
    auto evicting = in_background([&] { return evict(far, "slots"); });
    ASSERT_TRUE(eventually(patience, [&] { return net.count().replies_held == 1; }));
    server.command({"ZREM", "{slots}:timeout", java});
    server.command({"INCRBY", "slots", "1"});
    net.release_replies();
    EXPECT_FALSE(evicting.get());
    EXPECT_EQ(inspect(operators, "slots").count, 5);
}

TEST_F(evict_test, holder_that_ended_by_itself_is_reported_as_gone) {
    const std::string back = "0123456789abcdef", gone = "fedcba9876543210";
    server.command({"SET", "slots", "4"});
    server.command({"ZADD", "{slots}:timeout", "4000000000000", back, "4000000000001", gone});
    const auto shown = inspect(operators, "slots").holders;
    ASSERT_EQ(shown.size(), 2U);
    for (const auto& h : shown) ASSERT_TRUE(h.ask_at.empty()) << "nobody can ask them";
    fault_proxy net{server};
    client far{settings(net.url())};
    net.hold_reply_of(last_command_of_an_inspection("slots"));
    auto evicting = in_background([&] { return evict(far, "slots"); });
    ASSERT_TRUE(eventually(patience, [&] { return net.count().replies_held == 1; }));
    server.command({"ZREM", "{slots}:timeout", back, gone});
    net.hold_reply_of([](const auto& words) { return words[0] == "CLIENT" && words.at(1) == "LIST"; });
    net.release_replies();
    ASSERT_TRUE(eventually(patience, [&] {
        const auto so_far = net.count();
        return so_far.rules_fired == 2 && so_far.replies_held == 1;
    })) << "it inspects again";
    server.command({"ZADD", "{slots}:timeout", "4000000000000", back});
    net.release_replies();
    const auto end = evicting.get();
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].who.owner, shown[0].owner);
    ASSERT_EQ(end.gone.size(), 1U);
    EXPECT_EQ(end.gone[0].owner, shown[1].owner);
}

TEST_F(evict_test, writer_that_also_reads_loses_both_holds) {
    make_listen(holders);
    shared_mutex lock{holders, "job"};
    const lease writes = lock.acquire();
    const lease reads = lock.acquire_shared(writes);
    const auto end = evict(operators, "job", unhurried);
    ASSERT_FALSE(end.from.empty());
    for (const auto& h : end.from) EXPECT_EQ(h.how, way::gave_up);
    EXPECT_FALSE(writes.valid());
    EXPECT_FALSE(reads.valid());
    EXPECT_FALSE(exists(server, "job"));
}

TEST_F(evict_test, report_says_how_long_each_permit_may_go_on) {
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

// --- strings of other programs ----------------------------------------------------------------------

TEST_F(evict_test, data_that_is_no_lock_is_removed_only_by_force) {
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

TEST_F(evict_test, owner_token_is_compared_beyond_the_part_that_is_shown) {
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

}  // namespace
}  // namespace holdfast::test
