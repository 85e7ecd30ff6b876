// A node whose connection ends, or whose server does not answer or refuses it.
#include "asking_node.hpp"

#include "support/fault_proxy.hpp"
#include "support/loopback.hpp"

#include <holdfast/error.hpp>

#include <sys/socket.h>

#include <future>
#include <string_view>
#include <thread>
#include <utility>

namespace holdfast::redis {
namespace {

using test::eventually;
using test::fault_proxy;
using test::redis_server;
using what = node_event::what;

TEST(node, a_command_without_a_connection_is_not_sent) {
    redis_server server;
    const auto port = server.port();
    server.stop();
    io::reactor reactor;
    node_events events;
    node n{config_for(port), reactor, events.listener()};
    const auto a = ask(n, {"PING"}, 200ms);
    ASSERT_TRUE(eventually(test::patience, [&] { return a->here(); }));
    ASSERT_NE(a->as_not_sent(), nullptr) << a->text();
    EXPECT_EQ(a->as_not_sent()->code, make_error_code(errc::unavailable));
    EXPECT_EQ(a->as_not_sent()->text, "connection refused by 127.0.0.1:" + std::to_string(port));
    ASSERT_TRUE(events.soon(what::down));
    EXPECT_EQ(events.count(what::down), 1u) << "reported once, not per try";

    const auto waits = send(n, {"PING"}, 20s);
    server.start();
    ASSERT_TRUE(eventually(test::patience, [&] { return waits->here(); }));
    EXPECT_EQ(waits->text(), "PONG");
}

TEST(node, an_unknown_host_is_named_in_the_error) {
    io::reactor reactor;
    node_events events;
    auto c = config_for(1);
    c.host = "no-such-host.invalid";
    node n{c, reactor, events.listener()};
    ASSERT_TRUE(events.soon(what::down));
    EXPECT_NE(events.last(what::down).why.text.find("no-such-host.invalid"), std::string::npos);
}

// A full server does not wait for our first command.
TEST(node, reports_what_a_server_said_before_it_closed_the_connection) {
    const auto listener = test::bound_socket(0);
    ASSERT_EQ(::listen(listener.get(), 8), 0);
    io::reactor reactor;
    node_events events;
    // The reactor connects, and does not look before the connection is broken.
    std::promise<void> is_made, is_broken;
    reactor.post([&] { is_made.get_future().wait(); });
    node n{config_for(test::port_of(listener)), reactor, events.listener()};
    // Runs after what the node has posted, and what that posts.
    reactor.post([&] { reactor.post([&] { is_broken.get_future().wait(); }); });
    is_made.set_value();
    {
        const test::unique_fd theirs{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        const std::string_view answer = "-ERR max number of clients reached\r\n";
        ASSERT_EQ(::send(theirs.get(), answer.data(), answer.size(), 0), std::ssize(answer));
        const linger at_once{1, 0};
        ASSERT_EQ(::setsockopt(theirs.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    }
    is_broken.set_value();
    ASSERT_TRUE(events.soon(what::down));
    const auto why = events.last(what::down).why.text;
    EXPECT_NE(why.find("takes no more clients"), std::string::npos) << why;
}

// --- a reactor that does not get to run ------------------------------------------------------------

// Blocks the reactor from construction until `go_on` or destruction.
class standstill {
  public:
    explicit standstill(io::reactor& of) {
        std::promise<void> there;
        auto stands = there.get_future();
        of.post([there = std::move(there), over = over_.get_future()]() mutable {
            there.set_value();
            over.wait();
        });
        stands.wait();
    }
    standstill(const standstill&) = delete;
    standstill& operator=(const standstill&) = delete;
    ~standstill() { go_on(); }
    void go_on() {
        if (!std::exchange(gone_on_, true)) over_.set_value();
    }

  private:
    std::promise<void> over_;
    bool gone_on_ = false;
};

void until_passed(time_point deadline) {
    ASSERT_TRUE(eventually(test::patience, [&] { return boot_clock::now() > deadline; }));
}

TEST(node, sends_no_command_whose_deadline_passed_before_the_connect) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    standstill now{reactor};
    const auto late = send(n, {"SET", "late", "1"}, 50ms);
    const auto in_time = send(n, {"SET", "in time", "1"});
    until_passed(in(50ms));
    now.go_on();
    ASSERT_TRUE(eventually(test::patience, [&] { return late->here() && in_time->here(); }));
    ASSERT_NE(late->as_not_sent(), nullptr) << late->text();
    EXPECT_EQ(in_time->text(), "OK");
    EXPECT_EQ(server.command({"EXISTS", "late"}).number, 0);
    EXPECT_EQ(late->times, 1);
}

TEST(node, a_caller_that_runs_io_learns_by_itself_that_its_command_was_not_sent) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    standstill now{reactor};
    const will_run_io here;
    const auto a = std::make_shared<answer>();
    n.command({"SET", "late", "1"}, in(20ms), into(a));
    n.run_io(a->asker, in(50ms));
    ASSERT_TRUE(a->here());
    ASSERT_NE(a->as_not_sent(), nullptr) << a->text();
    now.go_on();
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    EXPECT_EQ(server.command({"DBSIZE"}).number, 0);
    EXPECT_EQ(a->times, 1);
}

// The reading thread notices that the connection is lost, and the reactor is to reconnect.
TEST(node, sends_no_command_whose_deadline_passed_before_the_reconnect) {
    redis_server server;
    fault_proxy net{server};
    io::reactor reactor;
    node n{config_for(net.port()), reactor, {}};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    standstill now{reactor};
    net.cut_all();
    std::vector<answer_ptr> late;
    for (int i = 0; i < 20; ++i) {
        late.push_back(ask(n, {"SET", "late " + std::to_string(i), "1"}, 10ms));
        late.push_back(send(n, {"SET", "too late " + std::to_string(i), "1"}, 10ms));
    }
    until_passed(in(20ms));
    now.go_on();
    for (const auto& a : late) {
        ASSERT_TRUE(eventually(test::patience, [&] { return a->here(); }));
        EXPECT_EQ(a->as_reply(), nullptr) << a->text();
        EXPECT_EQ(a->times, 1);
    }
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    EXPECT_EQ(server.command({"DBSIZE"}).number, 0);
}

// The socket is full, so new commands wait, and their deadlines pass meanwhile.
TEST(node, reports_no_command_as_not_sent_that_it_sends_later) {
    redis_server server;
    fault_proxy net{server};
    io::reactor reactor;
    auto how = config_for(net.port());
    how.command_timeout = test::patience;
    node n{how, reactor, {}};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    net.stall();
    const std::string large(1 << 20, 'x');
    std::vector<answer_ptr> before;
    for (int i = 0; i < 16; ++i) before.push_back(send(n, {"ECHO", large}));
    std::vector<answer_ptr> late;
    {
        standstill now{reactor};
        for (int i = 0; i < 20; ++i) late.push_back(send(n, {"SET", "late " + std::to_string(i), "1"}, 10ms));
        until_passed(in(10ms));
        net.resume();
    }
    std::int64_t done = 0;
    for (const auto& a : late) {
        ASSERT_TRUE(eventually(test::patience, [&] { return a->here(); }));
        done += a->as_reply() != nullptr ? 1 : 0;
        EXPECT_TRUE(a->as_reply() != nullptr || a->as_not_sent() != nullptr) << a->text();
    }
    ASSERT_TRUE(eventually(test::patience, [&] { return before.back()->here(); }));
    EXPECT_EQ(server.command({"DBSIZE"}).number, done);
}

TEST(node, a_killed_server_leaves_sent_commands_without_answer) {
    redis_server server;
    io::reactor reactor;
    node_events events;
    node n{config_for(server.port()), reactor, events.listener()};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    server.pause();
    const auto sent = send(n, {"SET", "a", "1"});
    server.stop();
    ASSERT_TRUE(eventually(test::patience, [&] { return sent->here(); }));
    ASSERT_NE(sent->as_no_answer(), nullptr) << sent->text();
    EXPECT_EQ(sent->as_no_answer()->code, make_error_code(errc::unknown_outcome));
    ASSERT_TRUE(events.soon(what::down));

    const auto queued = send(n, {"SET", "b", "2"}, 30s);
    server.start();
    ASSERT_TRUE(eventually(test::patience, [&] { return queued->here(); }));
    EXPECT_EQ(queued->text(), "OK");
    EXPECT_EQ(sent->times, 1);
}

TEST(node, threads_survive_killed_connections) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    std::atomic<bool> stop{false};
    std::atomic<int> answered{0}, lost{0}, odd{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; !stop; ++i) {
                const auto payload = std::to_string(t) + ":" + std::to_string(i);
                const auto a = ask(n, {"ECHO", payload}, 20s);
                if (a->as_reply() != nullptr && a->text() == payload)
                    ++answered;
                else if (a->as_no_answer() != nullptr)
                    ++lost;
                else
                    ++odd;
                EXPECT_EQ(a->times, 1);
            }
        });
    }
    for (int kills = 0; kills < 20; ++kills) {
        const int before = answered;
        ASSERT_TRUE(eventually(test::patience, [&] { return answered > before + 50; }));
        server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    }
    stop = true;
    for (auto& t : threads) t.join();
    EXPECT_EQ(odd, 0);
    EXPECT_GT(answered, 1000);
}

TEST(node, abandons_a_server_that_sleeps_longer_than_command_timeout) {
    redis_server::options with_debug;
    with_debug.debug_command = true;
    redis_server server{with_debug};
    io::reactor reactor;
    node_events events;
    auto c = config_for(server.port());
    c.command_timeout = 300ms;
    node n{c, reactor, events.listener()};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    const auto slept = ask(n, {"DEBUG", "SLEEP", "1"}, 5s);
    ASSERT_NE(slept->as_no_answer(), nullptr) << slept->text();
    EXPECT_NE(slept->text().find("within 300ms"), std::string::npos) << slept->text();
    EXPECT_TRUE(events.soon(what::down));
    EXPECT_EQ(ask(n, {"PING"}, 10s)->text(), "PONG");
}

TEST(node, time_in_which_the_reactor_stood_still_is_no_silence_of_the_server) {
    redis_server server;
    fault_proxy net{server};
    io::reactor reactor;
    node_events events;
    auto how = config_for(net.port());
    how.command_timeout = 5s;
    node n{how, reactor, events.listener()};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    net.hold_reply_of(test::named("ECHO"));
    const auto a = send(n, {"ECHO", "x"});
    {
        const standstill now{reactor};
        until_passed(in(how.command_timeout));
    }
    net.release_replies();
    ASSERT_TRUE(eventually(test::patience, [&] { return a->here(); }));
    EXPECT_EQ(a->text(), "x");
    EXPECT_EQ(events.count(what::down), 0U);
}

TEST(node, a_half_open_connection_is_noticed_without_a_waiting_caller) {
    redis_server server;
    fault_proxy proxy{server};
    io::reactor reactor;
    node_events events;
    auto c = config_for(proxy.port());
    c.command_timeout = 200ms;
    c.connect_timeout = 200ms;
    node n{c, reactor, events.listener()};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    proxy.stall();
    const auto a = send(n, {"PING"});
    ASSERT_TRUE(eventually(test::patience, [&] { return a->here(); }));
    EXPECT_NE(a->as_no_answer(), nullptr) << a->text();
    ASSERT_TRUE(events.soon(what::down));
    proxy.resume();
    EXPECT_EQ(ask(n, {"PING"}, 20s)->text(), "PONG");
}

TEST(node, a_late_reply_does_not_hurt_the_next_command) {
    redis_server server;
    fault_proxy proxy{server};
    io::reactor reactor;
    node n{config_for(proxy.port()), reactor, {}};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    proxy.hold_reply_of([](const auto& words) { return words.size() == 2 && words[1] == "slow"; });
    const auto slow = ask(n, {"ECHO", "slow"}, 50ms);
    EXPECT_FALSE(slow->here()) << "its asker gave up";
    const auto next = send(n, {"ECHO", "next"});
    proxy.release_replies();
    ASSERT_TRUE(eventually(test::patience, [&] { return next->here() && slow->here(); }));
    EXPECT_EQ(slow->text(), "slow");
    EXPECT_EQ(next->text(), "next");
}

TEST(node, a_cut_between_command_and_reply_means_no_answer) {
    redis_server server;
    fault_proxy proxy{server};
    io::reactor reactor;
    node n{config_for(proxy.port()), reactor, {}};
    proxy.drop_reply_of(test::named("SET"));
    const auto a = ask(n, {"SET", "k", "v"});
    EXPECT_NE(a->as_no_answer(), nullptr) << a->text();
    EXPECT_EQ(ask(n, {"GET", "k"})->text(), "v") << "it was carried out";
}

TEST(node, a_wrong_password_fails_at_once_without_a_retry_storm) {
    redis_server::options locked;
    locked.password = "right";
    redis_server server{locked};
    io::reactor reactor;
    node_events events;
    auto c = config_for(server.port());
    c.password = "wrong";
    node n{c, reactor, events.listener()};
    const auto a = ask(n, {"PING"}, 10s);
    ASSERT_NE(a->as_not_sent(), nullptr) << a->text();
    EXPECT_EQ(a->as_not_sent()->code, make_error_code(errc::no_permission));
    EXPECT_EQ(a->text().find("wrong"), std::string::npos) << a->text();
    ASSERT_TRUE(events.soon(what::refused));
    const auto b = ask(n, {"PING"}, 10s);
    ASSERT_NE(b->as_not_sent(), nullptr);
    EXPECT_EQ(b->as_not_sent()->code, make_error_code(errc::no_permission));
}

TEST(node, a_missing_password_is_no_permission) {
    redis_server::options locked;
    locked.password = "right";
    redis_server server{locked};
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    const auto a = ask(n, {"PING"}, 10s);
    ASSERT_NE(a->as_not_sent(), nullptr) << a->text();
    EXPECT_EQ(a->as_not_sent()->code, make_error_code(errc::no_permission));
}

TEST(node, authenticates_with_user_and_password) {
    redis_server::options locked;
    locked.password = "right";
    locked.users = {"alice on >secret ~* &* +@all"};
    redis_server server{locked};
    io::reactor reactor;
    auto c = config_for(server.port());
    c.user = "alice";
    c.password = "secret";
    node n{c, reactor, {}};
    EXPECT_EQ(ask(n, {"ACL", "WHOAMI"})->text(), "alice");
}

TEST(node, an_unknown_database_is_an_invalid_argument) {
    redis_server server;
    io::reactor reactor;
    auto c = config_for(server.port());
    c.db = 9999;
    node n{c, reactor, {}};
    const auto a = ask(n, {"PING"}, 10s);
    ASSERT_NE(a->as_not_sent(), nullptr) << a->text();
    EXPECT_EQ(a->as_not_sent()->code, make_error_code(errc::invalid_argument));
}

TEST(node, disconnects_from_a_server_that_became_a_replica) {
    redis_server server;
    io::reactor reactor;
    node_events events;
    node n{config_for(server.port()), reactor, events.listener()};
    ASSERT_TRUE(events.soon(what::up));
    server.command({"REPLICAOF", "127.0.0.1", "1"});
    const auto a = ask(n, {"SET", "k", "v"});
    ASSERT_NE(a->as_reply(), nullptr) << "the reply is delivered";
    EXPECT_TRUE(a->text().starts_with("READONLY"));
    ASSERT_TRUE(events.soon(what::up, 2));
}

}  // namespace
}  // namespace holdfast::redis
