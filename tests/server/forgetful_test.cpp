// Servers that forget locks, because they were started without their data or promoted without the latest of
// it. A client with a quarantine gets no lock there that another client may still hold.
#include "server/cli_scene.hpp"
#include "server/scene.hpp"
#include "support/sentinel_scene.hpp"

#include <string>

namespace holdfast::test {
namespace {

// Long enough for a busy machine.
constexpr milliseconds longest = slower > 1 ? 8s : 4s;

std::string quarantine(const std::string& what) {
    return what + "&longest_lease=" + std::to_string(longest.count()) + "ms";
}

std::string refusal_of(mutex& m) {
    try {
        (void)m.try_acquire();
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::quarantined) << e.what();
        return e.what();
    }
    return {};
}

// --- restarted --------------------------------------------------------------------------------------

class restarted_server : public ::testing::Test {
  protected:
    [[nodiscard]] config distrustful() const {
        return settings(server.url() + "?" + quarantine("restarts=quarantined"), longest);
    }
    // Not renewed: its holder would learn of the loss.
    void hold_and_lose() {
        held = mutex(a, "stock").acquire({.ttl = longest});
        server.stop();
        server.start();
        EXPECT_FALSE(exists(server, "stock")) << "it forgot nothing: this shows nothing";
    }

    redis_server server;
    client a{settings(server.url())};
    lease held;
};

TEST_F(restarted_server, that_is_trusted_lets_a_second_holder_in) {
    hold_and_lose();
    client b{settings(server.url())};
    EXPECT_TRUE(mutex(b, "stock").acquire().valid());
    EXPECT_TRUE(held.valid());
}

TEST_F(restarted_server, grants_no_lock_while_a_forgotten_lease_may_be_valid) {
    hold_and_lose();
    client b{distrustful()};
    mutex stock{b, "stock"};
    const auto why = refusal_of(stock);
    EXPECT_NE(why.find("was started so recently that it may have forgotten locks"), std::string::npos) << why;
    EXPECT_FALSE(exists(server, "stock")) << "what it granted at first contact is released";
    EXPECT_TRUE(stock.try_acquire_for(patience).valid());
    EXPECT_FALSE(held.valid());
}

TEST_F(restarted_server, is_noticed_by_a_client_that_was_connected) {
    client b{distrustful()};
    mutex stock{b, "stock"};
    ASSERT_TRUE(stock.try_acquire_for(patience).release());
    const event_recorder events{b};
    hold_and_lose();
    EXPECT_TRUE(events.has(event_kind::store_restarted));
    const auto why = refusal_of(stock);
    EXPECT_NE(why.find("so recently"), std::string::npos) << why;
    EXPECT_TRUE(stock.try_acquire_for(patience).valid());
    EXPECT_FALSE(held.valid());
}

TEST_F(restarted_server, quarantine_is_waited_out_by_every_kind) {
    client b{distrustful()};
    fair_mutex fair{b, "a"};
    recursive_mutex recursive{b, "b"};
    counting_semaphore permits{b, "c", {.total = 1}};
    auto waiting = waiter_for(fair);
    auto waiting_too = waiter_for(recursive);
    auto permit = permits.try_acquire_for(patience);
    EXPECT_TRUE(permit);
    EXPECT_TRUE(waiting.get());
    EXPECT_TRUE(waiting_too.get());
}

// A message that grants a lock does not name its server. This one comes from none.
TEST_F(restarted_server, grants_nothing_by_message) {
    client b{distrustful()};
    mutex stock{b, "stock"};
    ASSERT_TRUE(stock.try_acquire_for(patience).release());
    auto first = mutex(a, "stock").acquire();
    auto next = waiter_for(stock);
    ASSERT_TRUE(waits<plain>(server, "stock"));
    const auto place = server.command({"ZRANGE", queue_of("stock"), "0", "0", "WITHSCORES"}).items;
    const auto token = place.at(0).text;
    const auto channels = server.command({"PUBSUB", "CHANNELS", "*" + token.substr(0, 22) + "*"}).items;
    ASSERT_EQ(channels.size(), 1U);
    server.command({"PUBLISH", channels[0].text, token + " " + place.at(1).text + " stock"});
    EXPECT_FALSE(ready(next, 200ms));
    EXPECT_TRUE(first.release());
    EXPECT_TRUE(next.get().valid());
}

TEST_F(restarted_server, quarantine_is_waited_out_by_the_command) {
    const auto url = server.url() + "?" + quarantine("restarts=quarantined");
    const auto run = [&](cli::words options) {
        cli::words all{"--url", url, "run", "--ttl", std::to_string(longest.count()) + "ms"};
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"stock", "--", "true"});
        auto command = cli::start_command(all);
        return cli::outcome_of(command);
    };
    const auto at_once = run({"--no-wait"});
    EXPECT_EQ(at_once.code, 69);
    EXPECT_NE(at_once.errors.find("so recently"), std::string::npos) << at_once.errors;
    const auto waited = run({});
    EXPECT_EQ(waited.code, 0) << waited.errors;
    EXPECT_NE(waited.errors.find("waiting: the lock"), std::string::npos) << waited.errors;
}

TEST_F(restarted_server, refuses_leases_that_it_might_forget) {
    client b{distrustful()};
    mutex stock{b, "stock"};
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire({.ttl = longest + 1ms}); }), errc::invalid_argument);
    auto c = distrustful();
    c.lease = longest + 1ms;
    client too_long{c};
    EXPECT_EQ(code_of([&] { (void)mutex(too_long, "stock").try_acquire(); }), errc::invalid_argument);
    EXPECT_TRUE(list(too_long).empty()) << "a list needs no lease";
}

// --- promoted by hand -----------------------------------------------------------------------------------

// A promotion by hand closes no connection.
class promoted_by_hand : public ::testing::Test {
  protected:
    static redis_server::options following(const redis_server& master) {
        redis_server::options o;
        o.config = {"replicaof 127.0.0.1 " + std::to_string(master.port())};
        return o;
    }
    redis_server master;
    redis_server replica{following(master)};
};

TEST_F(promoted_by_hand, server_is_quarantined_though_its_connection_stays_open) {
    client c{settings(replica.url() + "?" + quarantine("failover=grace&restarts=trusted"), longest)};
    mutex stock{c, "stock"};
    // The client sends nothing to the replica: a refusal would end the connection.
    const event_recorder events{c};
    ASSERT_TRUE(events.has(event_kind::store_up));
    replica.command({"REPLICAOF", "NO", "ONE"});
    const auto promoted_at = boot_clock::now();
    EXPECT_NE(refusal_of(stock), "");
    EXPECT_FALSE(exists(replica, "stock"));
    EXPECT_TRUE(stock.try_acquire_for(patience).valid());
    EXPECT_GE(boot_clock::now(), promoted_at + longest);
}

// --- promoted -----------------------------------------------------------------------------------------

class promoted_server : public ::testing::Test {
  protected:
    // Only the master knows of A's lock when it dies. The promoted server does not.
    void hold_and_lose() {
        EXPECT_TRUE(mutex(a, "warm").acquire().release());
        scene.replicate();
        scene.cut_replicas();
        held = mutex(a, "stock").acquire({.ttl = 60s});
        scene.master().stop();
        lost_at = boot_clock::now();
        scene.await_failover();
        EXPECT_FALSE(exists(scene.master(), "stock"))
            << "the promoted server knows of it: this shows nothing";
    }
    [[nodiscard]] config with(const std::string& failover) const {
        return settings(scene.url(failover), longest);
    }

    sentinel_scene scene;
    client a{settings(scene.url())};
    lease held;
    boot_clock::time_point lost_at;
};

TEST_F(promoted_server, lets_a_second_holder_in_with_best_effort) {
    hold_and_lose();
    client b{with("failover=best_effort")};
    EXPECT_TRUE(mutex(b, "stock").try_acquire_for(patience).valid());
    EXPECT_TRUE(held.valid());
}

TEST_F(promoted_server, grants_no_lock_during_the_grace) {
    client b{with(quarantine("failover=grace&restarts=trusted"))};
    mutex of_b{b, "stock"};
    EXPECT_TRUE(of_b.try_acquire_for(patience).release());
    hold_and_lose();
    // No client has looked at the promoted server yet, so this one waits for the whole time, too.
    client c{with(quarantine("failover=grace&restarts=trusted"))};
    mutex of_c{c, "stock"};
    const auto why = refusal_of(of_c);
    EXPECT_NE(why.find("was promoted so recently that it may have forgotten locks"), std::string::npos)
        << why;
    auto waiting = waiter_for(of_b);
    EXPECT_TRUE(waiting.get().valid());
    EXPECT_GE(boot_clock::now(), lost_at + longest);
    EXPECT_TRUE(of_c.try_acquire_for(patience));

    // A later client trusts the note of earlier ones, which is a moment younger than what they know
    // themselves. It does not trust another server's note.
    client d{with(quarantine("failover=grace&restarts=trusted"))};
    EXPECT_TRUE(mutex(d, "stock").try_acquire_for(longest / 2));
    scene.master().command({"SET", "holdfast:promoted", "promoted another 1000"});
    client e{with(quarantine("failover=grace&restarts=trusted"))};
    mutex of_e{e, "stock"};
    EXPECT_NE(refusal_of(of_e), "");
    EXPECT_NE(scene.master().command({"GET", "holdfast:promoted"}).text, "promoted another 1000");
}

}  // namespace
}  // namespace holdfast::test
