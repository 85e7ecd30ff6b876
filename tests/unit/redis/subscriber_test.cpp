// Subscriptions against a real server.
#include "asking_node.hpp"

#include "support/fault_proxy.hpp"

#include <condition_variable>
#include <semaphore>
#include <thread>

namespace holdfast::redis {
namespace {

using test::eventually;
using test::fault_proxy;
using test::redis_server;
using sub_what = sub_event::what;

// Records the events of a subscription.
class event_recorder {
  public:
    [[nodiscard]] sub_handler handler() {
        return [this](const sub_event& e) {
            const std::lock_guard hold{mutex_};
            events_.emplace_back(e.kind, e.text);
        };
    }
    [[nodiscard]] std::size_t count(sub_what kind) const {
        const std::lock_guard hold{mutex_};
        return static_cast<std::size_t>(
            std::count_if(events_.begin(), events_.end(), [&](const auto& h) { return h.first == kind; }));
    }
    [[nodiscard]] bool soon(sub_what kind, std::size_t times = 1) const {
        return eventually(test::patience, [&] { return count(kind) >= times; });
    }
    [[nodiscard]] std::vector<std::string> messages() const {
        const std::lock_guard hold{mutex_};
        std::vector<std::string> all;
        for (const auto& [kind, text] : events_)
            if (kind == sub_what::message) all.push_back(text);
        return all;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::pair<sub_what, std::string>> events_;
};

std::int64_t listeners_of(redis_server& s, const std::string& channel) {
    return s.command({"PUBSUB", "NUMSUB", channel}).items.at(1).number;
}

TEST(subscriber, receives_messages_once_it_is_subscribed) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    event_recorder e;
    const auto token = n.subscribe("ch", e.handler());
    ASSERT_TRUE(e.soon(sub_what::subscribed));
    for (int i = 0; i < 100; ++i) server.command({"PUBLISH", "ch", std::to_string(i)});
    ASSERT_TRUE(e.soon(sub_what::message, 100));
    EXPECT_EQ(e.messages().front(), "0");
    EXPECT_EQ(e.messages().back(), "99");
}

TEST(subscriber, connects_only_for_a_subscription) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    const auto connections = [&] {
        const auto list = server.command({"CLIENT", "LIST"}).text;
        std::size_t found = 0;
        for (auto at = list.find("name=node-test"); at != std::string::npos;
             at = list.find("name=node-test", at + 1))
            ++found;
        return found;
    };
    EXPECT_EQ(connections(), 1u);
    event_recorder e;
    const auto token = n.subscribe("ch", e.handler());
    ASSERT_TRUE(e.soon(sub_what::subscribed));
    EXPECT_EQ(connections(), 2u);
}

TEST(subscriber, handlers_of_one_channel_share_a_subscription) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    event_recorder a, b;
    auto first = n.subscribe("ch", a.handler());
    ASSERT_TRUE(a.soon(sub_what::subscribed));
    auto second = n.subscribe("ch", b.handler());
    ASSERT_TRUE(b.soon(sub_what::subscribed));
    EXPECT_EQ(listeners_of(server, "ch"), 1);
    server.command({"PUBLISH", "ch", "x"});
    ASSERT_TRUE(a.soon(sub_what::message) && b.soon(sub_what::message));
    EXPECT_EQ(a.count(sub_what::subscribed), 1u);

    first.reset();
    server.command({"PUBLISH", "ch", "y"});
    ASSERT_TRUE(b.soon(sub_what::message, 2));
    EXPECT_EQ(a.count(sub_what::message), 1u);
    second.reset();
    EXPECT_TRUE(eventually(test::patience, [&] { return listeners_of(server, "ch") == 0; }));
}

TEST(subscriber, subscribes_again_after_its_connection_was_killed) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    event_recorder a, b;
    const auto first = n.subscribe("a", a.handler());
    const auto second = n.subscribe("b", b.handler());
    ASSERT_TRUE(a.soon(sub_what::subscribed) && b.soon(sub_what::subscribed));
    server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    ASSERT_TRUE(a.soon(sub_what::broken) && b.soon(sub_what::broken));
    ASSERT_TRUE(a.soon(sub_what::subscribed, 2) && b.soon(sub_what::subscribed, 2));
    server.command({"PUBLISH", "a", "again"});
    ASSERT_TRUE(a.soon(sub_what::message));
    EXPECT_EQ(a.count(sub_what::broken), 1u);
}

TEST(subscriber, waits_for_a_server_that_is_not_running_yet) {
    redis_server server;
    server.stop();
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    event_recorder e;
    const auto token = n.subscribe("ch", e.handler());
    server.start();
    EXPECT_TRUE(e.soon(sub_what::subscribed));
    EXPECT_EQ(e.count(sub_what::broken), 0u);
}

TEST(subscriber, an_unanswered_subscription_ends_the_connection) {
    redis_server server;
    fault_proxy proxy{server};
    io::reactor reactor;
    auto c = config_for(proxy.port());
    c.command_timeout = 200ms;
    c.connect_timeout = 200ms;
    node n{c, reactor, {}};
    event_recorder a, b;
    const auto first = n.subscribe("a", a.handler());
    ASSERT_TRUE(a.soon(sub_what::subscribed));
    proxy.stall();
    const auto second = n.subscribe("b", b.handler());
    ASSERT_TRUE(a.soon(sub_what::broken));
    proxy.resume();
    EXPECT_TRUE(a.soon(sub_what::subscribed, 2) && b.soon(sub_what::subscribed));
}

TEST(subscriber, reports_a_missing_right_to_listen) {
    redis_server::options with_users;
    with_users.users = {"deaf on >secret ~* resetchannels &open +@all"};
    redis_server server{with_users};
    io::reactor reactor;
    auto c = config_for(server.port());
    c.user = "deaf";
    c.password = "secret";
    node n{c, reactor, {}};
    event_recorder shut, late, open;
    const auto first = n.subscribe("shut", shut.handler());
    const auto second = n.subscribe("open", open.handler());
    EXPECT_TRUE(shut.soon(sub_what::refused));
    EXPECT_TRUE(open.soon(sub_what::subscribed));
    const auto third = n.subscribe("shut", late.handler());
    EXPECT_TRUE(late.soon(sub_what::refused)) << "a later handler is notified, too";
}

TEST(subscriber, no_handler_runs_after_its_token_is_gone) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    event_recorder keeps;
    const auto keeper = n.subscribe("ch", keeps.handler());
    ASSERT_TRUE(keeps.soon(sub_what::subscribed));
    std::atomic<bool> stop{false};
    std::thread publisher{[&] {
        node p{config_for(server.port()), reactor, {}};
        while (!stop) ask(p, {"PUBLISH", "ch", "x"});
    }};
    for (int i = 0; i < 300; ++i) {
        const auto alive = std::make_unique<std::atomic<int>>(0);  // sanitizers see a call after the end
        auto token = n.subscribe("ch", [&calls = *alive](const sub_event&) { ++calls; });
        if (i % 3 != 0) {
            EXPECT_TRUE(eventually(test::patience, [&] { return *alive > 1; }));
        }
        token.reset();
    }
    stop = true;
    publisher.join();
}

TEST(subscriber, the_destructor_waits_for_a_running_handler) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    std::binary_semaphore inside{0}, go_on{0};
    std::atomic<bool> finished{false};
    auto token = n.subscribe("ch", [&](const sub_event& e) {
        if (e.kind != sub_what::subscribed) return;
        inside.release();
        go_on.acquire();
        finished = true;
    });
    inside.acquire();
    std::thread releaser{[&] { go_on.release(); }};
    token.reset();
    EXPECT_TRUE(finished);
    releaser.join();
}

TEST(subscriber, a_handler_may_end_its_own_subscription) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    std::mutex m;
    std::unique_ptr<subscription> token;
    std::atomic<int> calls{0};
    {
        const std::lock_guard hold{m};
        token = n.subscribe("ch", [&](const sub_event&) {
            ++calls;
            const std::lock_guard inner{m};
            token.reset();
        });
    }
    ASSERT_TRUE(eventually(test::patience, [&] { return calls == 1; }));
    EXPECT_TRUE(eventually(test::patience, [&] { return listeners_of(server, "ch") == 0; }));
    EXPECT_EQ(calls, 1);
}

TEST(subscriber, many_short_subscriptions_leave_nothing_behind) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    event_recorder e;
    for (int i = 0; i < 100'000; ++i) (void)n.subscribe("ch" + std::to_string(i % 1000), e.handler()).reset();
    EXPECT_TRUE(eventually(test::patience, [&] {
        return server.command({"PUBSUB", "CHANNELS"}).items.empty();
    }));
    const auto token = n.subscribe("ch1", e.handler());
    ASSERT_TRUE(eventually(test::patience, [&] { return listeners_of(server, "ch1") == 1; }));
}

TEST(subscriber, threads_subscribe_and_unsubscribe_on_the_same_channels) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    std::vector<std::thread> threads;
    std::atomic<int> missed{0};
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 100; ++i) {
                event_recorder e;
                const auto token = n.subscribe("ch" + std::to_string((t + i) % 3), e.handler());
                if (!e.soon(sub_what::subscribed)) ++missed;
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(missed, 0);
    EXPECT_TRUE(eventually(test::patience, [&] {
        return server.command({"PUBSUB", "CHANNELS"}).items.empty();
    }));
}

}  // namespace
}  // namespace holdfast::redis
