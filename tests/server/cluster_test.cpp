// Locks in a healthy Redis Cluster: where their keys are, how waiters are woken, how leases are renewed.
#include "server/cli_scene.hpp"
#include "server/cluster_world.hpp"
#include "support/loopback.hpp"

#include <set>

namespace holdfast::test {
namespace {

class cluster : public cluster_world {};

template <class Kind>
class cluster_kinds : public cluster_world {};
TYPED_TEST_SUITE(cluster_kinds, all_kinds, kind_names);

TYPED_TEST(cluster_kinds, are_acquired_and_released_in_all_slots) {
    client c{this->usual()};
    std::set<std::size_t> servers;
    for (int i = 0; i < 24; ++i) {
        const auto name = "slots:" + std::to_string(i);
        auto lock = TypeParam::make(c, name);
        ASSERT_TRUE(lock.try_lock()) << name;
        EXPECT_TRUE(this->scene().exists(name));
        servers.insert(this->scene().owner_of(this->scene().slot_of(name)));
        lock.unlock();
        EXPECT_FALSE(this->scene().exists(name));
    }
    EXPECT_EQ(servers.size(), 3u);
}

TYPED_TEST(cluster_kinds, wake_a_waiter_of_another_client) {
    for (const auto* options : {"", "?sharded=on", "?sharded=off"}) {
        client a{this->deaf_to_time(options)};
        client b{this->deaf_to_time(options)};
        for (int i = 0; i < 3; ++i) {
            const auto name = "woken:" + std::to_string(i);
            auto mine = TypeParam::make(a, name);
            auto theirs = TypeParam::make(b, name);
            auto held = mine.acquire();
            auto waiting = waiter_for(theirs);
            ASSERT_TRUE(waits_in(this->scene(), name)) << options;
            // It asks once more after it has subscribed; a release before that would be seen without a
            // message.
            EXPECT_FALSE(ready(waiting, 50ms));
            const stopwatch since;
            (void)held.release();
            ASSERT_TRUE(ready(waiting, patience)) << name << options;
            EXPECT_LT(since.took(), slack);
            EXPECT_TRUE(waiting.get().valid());
        }
    }
}

TYPED_TEST(cluster_kinds, exclude_and_progress_under_contention) {
    contest<TypeParam> both{this->usual(), "contest"};
    EXPECT_TRUE(both.gets(100));
    both.end();
    EXPECT_EQ(both.overlaps(), 0);
}

// By the rule of Redisson's clients, which would miss our messages otherwise.
TEST_F(cluster, redisson_channels_are_sharded_unless_turned_off) {
    for (const auto& [options, which, verb] :
         {std::tuple{"", "SHARDCHANNELS", "SPUBLISH"}, std::tuple{"?sharded=on", "SHARDCHANNELS", "SPUBLISH"},
          std::tuple{"?sharded=off", "CHANNELS", "PUBLISH"}}) {
        const std::string name = "java";
        ASSERT_FALSE(
            scene().command({"HSET", name, "0d2b3c47-0c5e-4a45-9f9e-000000000000:1", "1"}).is_error());
        client c{deaf_to_time(options)};
        recursive_mutex lock{c, name};
        auto waiting = waiter_for(lock);
        auto& server = scene().master_of(name);
        EXPECT_TRUE(eventually(patience, [&, which = which] {
            return server.command({"PUBSUB", which, channel_of(name)}).items.size() == 1;
        })) << options;
        EXPECT_FALSE(ready(waiting, 50ms));
        // As Redisson releases it.
        EXPECT_EQ(scene().command({"DEL", name}).number, 1);
        EXPECT_EQ(server.command({verb, channel_of(name), "0"}).number, 1);
        const stopwatch since;
        ASSERT_TRUE(ready(waiting, patience)) << options;
        EXPECT_LT(since.took(), slack);
        (void)waiting.get().release();
    }
}

// One script renews many locks of a slot, and all of them are renewed.
TEST_F(cluster, renews_the_locks_of_a_slot_together) {
    client c{usual(slower > 1 ? 30s : 10s)};  // a stall of a busy machine endangers none
    event_recorder events{c};
    std::vector<std::unique_ptr<mutex>> locks;
    std::vector<lease> held;
    for (int i = 0; i < 1'000; ++i) {
        // Half of them in ten slots, the others in any slot.
        const auto n = std::to_string(i);
        locks.push_back(
            std::make_unique<mutex>(c, i < 500 ? "many:{" + std::to_string(i % 10) + "}" + n : "many:" + n));
        held.push_back(locks.back()->acquire());
    }
    const auto renewals = c.stats().renewals;
    const auto scripts = calls_of(scene(), "evalsha");
    ASSERT_TRUE(eventually(patience, [&] { return c.stats().renewals >= renewals + 2'000; }));
    const auto per_round = static_cast<double>(calls_of(scene(), "evalsha") - scripts) /
                           static_cast<double>(c.stats().renewals - renewals) * 1'000;
    // Renewed one by one, 500 locks in ten slots would be 500 scripts.
    EXPECT_LT(per_round, 750);
    for (const auto& h : held) EXPECT_TRUE(h.valid());
    // On a busy machine the servers may miss each other for a moment and refuse; the next renewals work.
    EXPECT_EQ(events.count(event_kind::lost), 0u);
}

TEST_F(cluster, serves_names_with_odd_braces) {
    for (const std::string name : {"a{", "a}b", "{}x", "{", "}{", "{a}{b}", "a{b}c", "{{}}"}) {
        client a{deaf_to_time()};
        client b{deaf_to_time()};
        for (const bool with_fence : {false, true}) {
            mutex mine{a, name, {.fenced = with_fence}};
            mutex theirs{b, name, {.fenced = with_fence}};
            auto held = mine.acquire();
            EXPECT_FALSE(theirs.try_lock()) << name;
            auto waiting = waiter_for(theirs);
            EXPECT_FALSE(ready(waiting, 100ms)) << name;
            EXPECT_EQ(held.release(), release_outcome::released) << name;
            const stopwatch since;
            ASSERT_TRUE(ready(waiting, patience)) << name;
            EXPECT_LT(since.took(), slack) << name;
            (void)waiting.get().release();
        }
    }
}

// Redisson's own clients cannot unlock them there.
TEST_F(cluster, refuses_names_whose_redisson_keys_have_several_slots) {
    client c{usual()};
    mutex first{c, "a{first}"};  // has all connections made
    ASSERT_TRUE(first.try_lock());
    first.unlock();
    // Only scripts are counted: the client asks for the slot map whenever that is due.
    const auto scripts = [&] { return calls_of(scene(), "evalsha") + calls_of(scene(), "eval"); };
    for (const std::string name : {"a{", "a}b", "{}x", "{"}) {
        const auto sent = scripts();
        recursive_mutex again{c, name};
        fair_mutex fair_one{c, name};
        shared_mutex table{c, name};
        counting_semaphore permits{c, name, {.total = 3}};
        try {
            (void)again.try_lock();
            ADD_FAILURE() << "taken: " << name;
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::invalid_argument);
            EXPECT_NE(std::string{e.what()}.find("different slots"), std::string::npos) << e.what();
        }
        EXPECT_EQ(code_of([&] { (void)fair_one.try_lock(); }), errc::invalid_argument) << name;
        EXPECT_EQ(code_of([&] { (void)table.try_lock(); }), errc::invalid_argument) << name;
        EXPECT_EQ(code_of([&] { (void)table.try_lock_shared(); }), errc::invalid_argument) << name;
        EXPECT_EQ(code_of([&] { (void)permits.try_acquire(); }), errc::invalid_argument) << name;
        EXPECT_FALSE(scene().exists(name));
        EXPECT_EQ(scripts(), sent);
    }
    for (const std::string name : {"plain", "a{b}", "{tag}x", "{a}{b}", R"({"a":1})"}) {
        recursive_mutex lock{c, name};
        ASSERT_TRUE(lock.try_lock()) << name;
        lock.unlock();
        EXPECT_FALSE(scene().exists(name)) << name;
    }
    // Redisson puts braces around a latch's name whatever it is.
    latch gate{c, "a{b}"};
    EXPECT_EQ(code_of([&] { (void)gate.try_set_count(1); }), errc::invalid_argument);
}

TEST_F(cluster, supports_semaphores_and_latches) {
    client a{deaf_to_time()};
    client b{deaf_to_time()};
    permit_semaphore seats{a, "seats", {.total = 1}};
    permit_semaphore same_seats{b, "seats", {.total = 1}};
    auto seat = seats.acquire();
    auto waiting = in_background([&] { return same_seats.try_acquire_for(patience); });
    EXPECT_FALSE(ready(waiting, 100ms));
    (void)seat.release();
    const stopwatch since;
    ASSERT_TRUE(ready(waiting, patience));
    EXPECT_LT(since.took(), slack);
    EXPECT_TRUE(waiting.get().valid());

    latch gate{a, "gate"};
    latch same_gate{b, "gate"};
    ASSERT_TRUE(gate.try_set_count(1));
    auto through = in_background([&] { return same_gate.wait_for(patience); });
    EXPECT_FALSE(ready(through, 100ms));
    gate.count_down();
    ASSERT_TRUE(ready(through, patience));
    EXPECT_TRUE(through.get());
}

TEST_F(cluster, lists_inspects_and_evicts_on_all_servers) {
    client c{usual()};
    std::vector<std::unique_ptr<mutex>> locks;
    std::vector<lease> held;
    for (int i = 0; i < 30; ++i) {
        locks.push_back(std::make_unique<mutex>(c, "shown:" + std::to_string(i)));
        held.push_back(locks.back()->acquire());
    }
    EXPECT_EQ(list(c, "shown:*").size(), 30u);
    const auto one = inspect(c, "shown:7");
    ASSERT_EQ(one.holders.size(), 1u);
    EXPECT_EQ(one.holders[0].client, presence::connected);
    EXPECT_TRUE(evict(c, "shown:7"));
    EXPECT_FALSE(scene().exists("shown:7"));
}

TEST_F(cluster, serves_the_command) {
    const cli::words url{"--url", scene().url()};
    const auto run = [&](cli::words words) {
        words.insert(words.begin(), url.begin(), url.end());
        auto command = cli::start_command(std::move(words));
        return cli::outcome_of(command);
    };
    EXPECT_EQ(run({"run", "cli:1", "--", "true"}).code, 0);
    client c{usual()};
    mutex lock{c, "cli:1"};
    auto held = lock.acquire();
    EXPECT_EQ(run({"run", "-n", "cli:1", "--", "true"}).code, 1);
    EXPECT_NE(run({"ls", "cli:*"}).output.find("cli:1"), std::string::npos);
    EXPECT_NE(run({"inspect", "cli:1"}).output.find("mutex"), std::string::npos);
    EXPECT_EQ(run({"evict", "--yes", "cli:1"}).code, 0);
    EXPECT_FALSE(scene().exists("cli:1"));
}

TEST_F(cluster, is_found_through_any_of_its_servers) {
    const auto closed_port = std::to_string(port_of(bound_socket(0)));
    client c{settings("redis+cluster://127.0.0.1:" + closed_port +
                      ",127.0.0.1:" + std::to_string(scene().server(4).port()))};  // a replica
    mutex lock{c, "found"};
    const stopwatch since;
    ASSERT_TRUE(lock.try_lock());
    EXPECT_LT(since.took(), slack);
    lock.unlock();
}

TEST_F(cluster, explains_a_wrong_url) {
    redis_server alone;
    client c{settings("redis+cluster://127.0.0.1:" + std::to_string(alone.port()))};
    mutex lock{c, "x"};
    const stopwatch since;
    EXPECT_EQ(code_of([&] { (void)lock.try_lock(); }), errc::invalid_argument);
    EXPECT_LT(since.took(), slack);

    // And the other way round: one server of three.
    client single{settings(scene().server(0).url())};
    mutex moved{single, scene().key_on(1, "elsewhere")};
    try {
        (void)moved.try_lock();
        ADD_FAILURE();
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::invalid_argument);
        EXPECT_NE(std::string{e.what()}.find("redis+cluster://"), std::string::npos) << e.what();
    }
}

TEST_F(cluster, client_without_the_right_to_channels_polls) {
    for (std::size_t n = 0; n < scene().size(); ++n)
        ASSERT_EQ(scene()
                      .server(n)
                      .command({"ACL", "SETUSER", "silent", "on", ">pw", "~*", "resetchannels", "+@all"})
                      .text,
                  "OK");
    client a{settings(scene().url("silent:pw@"))};
    client b{settings(scene().url("silent:pw@"))};
    event_recorder events{b};
    mutex mine{a, "quiet"};
    mutex theirs{b, "quiet"};
    auto held = mine.acquire();
    auto waiting = waiter_for(theirs);
    EXPECT_TRUE(events.has(event_kind::no_channel_right));
    const stopwatch since;
    EXPECT_EQ(held.release(), release_outcome::released);
    ASSERT_TRUE(ready(waiting, patience));
    EXPECT_LT(since.took(), slack);
    EXPECT_TRUE(waiting.get().valid());
}

TEST_F(cluster, reports_a_wrong_password_soon) {
    client c{settings(scene().url("nobody:wrong@"))};
    mutex lock{c, "x"};
    const stopwatch since;
    EXPECT_EQ(code_of([&] { (void)lock.try_lock(); }), errc::no_permission);
    EXPECT_LT(since.took(), 1s + slack);
}

}  // namespace
}  // namespace holdfast::test
