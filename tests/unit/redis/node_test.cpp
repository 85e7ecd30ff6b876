// A node against a real server: commands, connections that end, servers that do not answer.
#include "asking.hpp"

#include "support/fault_proxy.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <semaphore>
#include <thread>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::redis {
namespace {

using test::eventually;
using test::fault_proxy;
using test::redis_server;
using what = node_event::what;

TEST(node, answers_a_caller_that_drives) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    EXPECT_EQ(ask(n, {"SET", "k", "v"})->text(), "OK");
    EXPECT_EQ(ask(n, {"GET", "k"})->text(), "v");
    EXPECT_EQ(ask(n, {"INCR", "k"})->as_reply()->kind(), reply::type::error);
    EXPECT_EQ(n.commands_sent(), 3u);
    EXPECT_GT(n.smoothed_rtt(), 0ns);
}

TEST(node, answers_a_sender_that_does_not_drive) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    for (int i = 0; i < 100; ++i) {
        const auto a = send(n, {"ECHO", std::to_string(i)});
        ASSERT_TRUE(eventually(10s, [&] { return a->here(); }));
        EXPECT_EQ(a->text(), std::to_string(i));
    }
}

TEST(node, knows_the_server_and_its_restart) {
    redis_server server;
    io::reactor reactor;
    told events;
    node n{config_for(server.port()), reactor, events.listener()};
    ASSERT_TRUE(events.soon(what::up));
    EXPECT_FALSE(events.last(what::up).restarted);
    EXPECT_EQ(n.info().run_id.size(), 40u);
    EXPECT_EQ(n.info().maxmemory_policy, "noeviction");
    EXPECT_EQ(n.info().role, "master");
    EXPECT_FALSE(n.info().version.empty());

    server.command({"CLIENT", "KILL", "TYPE", "normal"});
    ASSERT_TRUE(events.soon(what::up, 2));
    EXPECT_FALSE(events.last(what::up).restarted);

    server.restart(redis_server::data::lose);
    ASSERT_TRUE(events.soon(what::up, 3));
    EXPECT_TRUE(events.last(what::up).restarted);
}

TEST(node, speaks_over_a_unix_socket) {
    redis_server server;
    io::reactor reactor;
    node_config c;
    c.unix_path = server.socket_path();
    node n{c, reactor, {}};
    EXPECT_EQ(ask(n, {"PING"})->text(), "PONG");
}

TEST(node, gives_its_name_and_chooses_its_database) {
    redis_server server;
    io::reactor reactor;
    auto c = config_for(server.port());
    c.db = 5;
    node n{c, reactor, {}};
    EXPECT_EQ(ask(n, {"CLIENT", "GETNAME"})->text(), "node-test");
    EXPECT_NE(ask(n, {"CLIENT", "INFO"})->text().find(" db=5 "), std::string::npos);
}

TEST(node, never_misroutes_a_reply_between_threads) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    std::atomic<int> wrong{0};
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 32; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 500; ++i) {
                const auto payload = std::to_string(t) + ":" + std::to_string(i);
                // Some do not drive, so that the reactor and the callers take turns.
                const auto a = t % 8 == 7 ? send(n, {"ECHO", payload}) : ask(n, {"ECHO", payload});
                if (t % 8 == 7) drive_until_here(n, *a, in(10s));
                (a->text() == payload && a->times == 1 ? right : wrong)++;
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(right, 32 * 500);
}

TEST(node, answers_a_deep_pipeline_of_one_sender) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    std::vector<answer_ptr> all;
    const std::string big(2000, 'x');  // together more than the socket's buffers
    for (int i = 0; i < 20'000; ++i) all.push_back(send(n, {"ECHO", big + std::to_string(i)}, 60s));
    for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_TRUE(eventually(30s, [&] { return all[i]->here(); })) << i;
        ASSERT_EQ(all[i]->text(), big + std::to_string(i));
    }
}

TEST(node, takes_a_reply_larger_than_its_buffers) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    const std::string big(5'000'000, 'b');
    EXPECT_EQ(ask(n, {"SET", "big", big})->text(), "OK");
    EXPECT_EQ(ask(n, {"GET", "big"})->text(), big);
}

TEST(node, a_command_that_nobody_could_take_is_not_sent) {
    redis_server server;
    const auto port = server.port();
    server.stop();
    io::reactor reactor;
    told events;
    node n{config_for(port), reactor, events.listener()};
    const auto a = ask(n, {"PING"}, 200ms);
    ASSERT_TRUE(eventually(10s, [&] { return a->here(); }));
    ASSERT_NE(a->as_not_sent(), nullptr) << a->text();
    EXPECT_EQ(a->as_not_sent()->code, make_error_code(errc::unavailable));
    EXPECT_EQ(a->as_not_sent()->text, "connection refused by 127.0.0.1:" + std::to_string(port));
    ASSERT_TRUE(events.soon(what::down));
    EXPECT_EQ(events.count(what::down), 1u) << "told once, not per try";

    const auto waits = send(n, {"PING"}, 20s);
    server.start();
    ASSERT_TRUE(eventually(15s, [&] { return waits->here(); }));
    EXPECT_EQ(waits->text(), "PONG");
}

TEST(node, a_host_that_does_not_exist_is_named) {
    io::reactor reactor;
    told events;
    auto c = config_for(1);
    c.host = "no-such-host.invalid";
    node n{c, reactor, events.listener()};
    ASSERT_TRUE(events.soon(what::down));
    EXPECT_NE(events.last(what::down).why.text.find("no-such-host.invalid"), std::string::npos);
}

TEST(node, a_killed_server_leaves_sent_commands_without_answer) {
    redis_server server;
    io::reactor reactor;
    told events;
    node n{config_for(server.port()), reactor, events.listener()};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    server.pause();
    const auto sent = send(n, {"SET", "a", "1"});
    server.stop();
    ASSERT_TRUE(eventually(10s, [&] { return sent->here(); }));
    ASSERT_NE(sent->as_no_answer(), nullptr) << sent->text();
    EXPECT_EQ(sent->as_no_answer()->code, make_error_code(errc::unknown_outcome));
    ASSERT_TRUE(events.soon(what::down));

    const auto queued = send(n, {"SET", "b", "2"}, 30s);
    server.start();
    ASSERT_TRUE(eventually(20s, [&] { return queued->here(); }));
    EXPECT_EQ(queued->text(), "OK");
    EXPECT_EQ(sent->times, 1);
}

TEST(node, threads_survive_connections_that_are_killed) {
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
        ASSERT_TRUE(eventually(20s, [&] { return answered > before + 50; }));
        server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    }
    stop = true;
    for (auto& t : threads) t.join();
    EXPECT_EQ(odd, 0);
    EXPECT_GT(answered, 1000);
}

TEST(node, a_server_that_sleeps_longer_than_the_patience_is_given_up) {
    redis_server::options with_debug;
    with_debug.debug_command = true;
    redis_server server{with_debug};
    io::reactor reactor;
    told events;
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

TEST(node, a_half_open_connection_is_noticed_without_a_driver) {
    redis_server server;
    fault_proxy proxy{server};
    io::reactor reactor;
    told events;
    auto c = config_for(proxy.port());
    c.command_timeout = 200ms;
    c.connect_timeout = 200ms;
    node n{c, reactor, events.listener()};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    proxy.stall();
    const auto a = send(n, {"PING"});
    ASSERT_TRUE(eventually(10s, [&] { return a->here(); }));
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
    ASSERT_TRUE(eventually(10s, [&] { return next->here() && slow->here(); }));
    EXPECT_EQ(slow->text(), "slow");
    EXPECT_EQ(next->text(), "next");
}

TEST(node, a_connection_cut_between_command_and_reply_is_no_answer) {
    redis_server server;
    fault_proxy proxy{server};
    io::reactor reactor;
    node n{config_for(proxy.port()), reactor, {}};
    proxy.drop_reply_of(test::named("SET"));
    const auto a = ask(n, {"SET", "k", "v"});
    EXPECT_NE(a->as_no_answer(), nullptr) << a->text();
    EXPECT_EQ(ask(n, {"GET", "k"})->text(), "v") << "it was carried out";
}

TEST(node, loads_a_script_that_the_server_has_forgotten) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    // sha1 of "return ARGV[1]"
    const script_ref script{"return ARGV[1]", "098e0f0d1448c0a81dafe820f66d460eb09263da"};
    const std::string_view args[] = {"hello"};
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 2; ++i) {
            const auto a = std::make_shared<answer>();
            n.eval(script, {}, args, in(10s), into(a));
            ASSERT_TRUE(eventually(10s, [&] { return a->here(); }));
            EXPECT_EQ(a->text(), "hello");
            EXPECT_EQ(a->times, 1);
        }
        server.command({"SCRIPT", "FLUSH"});
    }
}

TEST(node, runs_several_scripts_in_order) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    const script_ref script{"return ARGV[1]", "098e0f0d1448c0a81dafe820f66d460eb09263da"};
    const std::string_view a[] = {"a"}, b[] = {"b"}, c[] = {"c"};
    const node::eval_call calls[] = {{script, {}, a}, {script, {}, b}, {script, {}, c}};
    for (int round = 0; round < 2; ++round) {
        std::atomic<bool> done{false};
        std::vector<outcome> got;
        n.evals(calls, in(10s), [&](std::vector<outcome> all) {
            got = std::move(all);
            done = true;
        });
        ASSERT_TRUE(eventually(10s, [&] { return done.load(); }));
        ASSERT_EQ(got.size(), 3u);
        EXPECT_EQ(std::get<reply>(got[0]).text(), "a");
        EXPECT_EQ(std::get<reply>(got[1]).text(), "b");
        EXPECT_EQ(std::get<reply>(got[2]).text(), "c");
    }
}

TEST(node, a_wrong_password_fails_at_once_and_is_not_tried_in_a_storm) {
    redis_server::options locked;
    locked.password = "right";
    redis_server server{locked};
    io::reactor reactor;
    told events;
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

TEST(node, comes_in_with_user_and_password) {
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

TEST(node, a_database_that_does_not_exist_is_an_invalid_argument) {
    redis_server server;
    io::reactor reactor;
    auto c = config_for(server.port());
    c.db = 9999;
    node n{c, reactor, {}};
    const auto a = ask(n, {"PING"}, 10s);
    ASSERT_NE(a->as_not_sent(), nullptr) << a->text();
    EXPECT_EQ(a->as_not_sent()->code, make_error_code(errc::invalid_argument));
}

TEST(node, leaves_a_server_that_became_a_replica) {
    redis_server server;
    io::reactor reactor;
    told events;
    node n{config_for(server.port()), reactor, events.listener()};
    ASSERT_TRUE(events.soon(what::up));
    server.command({"REPLICAOF", "127.0.0.1", "1"});
    const auto a = ask(n, {"SET", "k", "v"});
    ASSERT_NE(a->as_reply(), nullptr) << "the reply is delivered";
    EXPECT_TRUE(a->text().starts_with("READONLY"));
    ASSERT_TRUE(events.soon(what::up, 2));
}

// The driver sits in a signal's handler, as a thread that gets no processor: it holds the role and reads
// nothing.
std::binary_semaphore* stuck = nullptr;
std::binary_semaphore* unstick = nullptr;
extern "C" void stay_stuck(int) {
    stuck->release();
    unstick->acquire();
}

TEST(node, the_reactor_reads_for_a_driver_that_does_not_get_to_run) {
    redis_server server;
    fault_proxy proxy{server};
    io::reactor reactor;
    node n{config_for(proxy.port()), reactor, {}};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");

    std::binary_semaphore in_handler{0}, let_go{0};
    stuck = &in_handler;
    unstick = &let_go;
    struct sigaction act {
    }, before{};
    act.sa_handler = stay_stuck;
    ::sigaction(SIGUSR2, &act, &before);

    proxy.hold_reply_of(test::named("ECHO"));
    answer_ptr drivers;
    std::atomic<pid_t> drivers_id{0};
    std::thread driver{[&] {
        drivers_id = ::gettid();
        drivers = ask(n, {"ECHO", "driver"}, 30s);
    }};
    ASSERT_TRUE(eventually(10s, [&] { return proxy.count().replies_held == 1; }));
    // In poll(): a signal a moment earlier could stop it while it holds a mutex, which is another story.
    ASSERT_TRUE(eventually(10s, [&] {
        std::ifstream stat{"/proc/self/task/" + std::to_string(drivers_id) + "/stat"};
        std::string line;
        std::getline(stat, line);
        const auto name_ends = line.rfind(')');
        return name_ends + 2 < line.size() && line[name_ends + 2] == 'S';
    }));
    ::pthread_kill(driver.native_handle(), SIGUSR2);
    in_handler.acquire();
    proxy.release_replies();
    const auto a = send(n, {"PING"});
    EXPECT_TRUE(eventually(5s, [&] { return a->here(); })) << "the reactor stepped in";
    let_go.release();
    driver.join();
    EXPECT_EQ(drivers->text(), "driver");
    EXPECT_EQ(a->text(), "PONG");
    ::sigaction(SIGUSR2, &before, nullptr);
}

TEST(node, an_unparked_thread_leaves_and_others_are_still_served) {
    redis_server server;
    fault_proxy proxy{server};
    io::reactor reactor;
    node n{config_for(proxy.port()), reactor, {}};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    proxy.hold_reply_of(test::named("ECHO"));
    const auto first = std::make_shared<answer>();
    std::atomic<bool> cancelled{false};
    std::thread leaver{[&] {
        const will_drive here;
        n.command({"ECHO", "first"}, in(20s), into(first));
        while (!cancelled) {
            n.drive(first->asker, in(20s));
            first->asker.consume();
        }
    }};
    ASSERT_TRUE(eventually(10s, [&] { return proxy.count().replies_held == 1; }));
    std::vector<std::thread> others;
    std::atomic<int> served{0};
    for (int i = 0; i < 4; ++i)
        others.emplace_back([&, i] {
            if (ask(n, {"ECHO", std::to_string(i)}, 20s)->text() == std::to_string(i)) ++served;
        });
    ASSERT_TRUE(eventually(10s, [&] { return proxy.count_of(test::named("ECHO")) == 5; }));
    cancelled = true;
    first->asker.unpark();
    leaver.join();
    proxy.release_replies();
    for (auto& t : others) t.join();
    EXPECT_EQ(served, 4);
    EXPECT_TRUE(eventually(10s, [&] { return first->here(); })) << "somebody reads what was left behind";
}

TEST(node, a_driver_leaves_at_its_time) {
    redis_server server;
    fault_proxy proxy{server};
    io::reactor reactor;
    node n{config_for(proxy.port()), reactor, {}};
    ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
    proxy.hold_reply_of(test::named("ECHO"));
    for (const auto patience :
         {10ms, 50ms, 300ms}) {  // less and more than what the kernel's timer is used for
        const auto begin = boot_clock::now();
        EXPECT_FALSE(ask(n, {"ECHO", "x"}, patience)->here());
        const auto took = boot_clock::now() - begin;
        EXPECT_GE(took, patience);
        EXPECT_LT(took, patience + 1s);
    }
}

#if !defined(__SANITIZE_THREAD__)  // it starts a thread of its own in the child
TEST(node, an_abandoned_one_dies_quietly_in_a_forked_child) {
    redis_server server;
    auto reactor = std::make_unique<io::reactor>();
    auto n = std::make_unique<node>(config_for(server.port()), *reactor, nullptr);
    auto token = n->subscribe("ch", [](const sub_event&) {});
    ASSERT_EQ(ask(*n, {"PING"})->text(), "PONG");
    const pid_t child = ::fork();
    if (child == 0) {
        reactor->abandon();
        n->abandon();
        n.reset();
        reactor.reset();
        ::_exit(7);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_EQ(ask(*n, {"PING"})->text(), "PONG") << "the parent goes on";
    token.reset();
}
#endif

TEST(node, closing_ends_every_command_once) {
    redis_server server;
    fault_proxy proxy{server};
    io::reactor reactor;
    std::vector<answer_ptr> all;
    {
        node n{config_for(proxy.port()), reactor, {}};
        ASSERT_EQ(ask(n, {"PING"})->text(), "PONG");
        proxy.stall();
        for (int i = 0; i < 50; ++i) all.push_back(send(n, {"ECHO", "x"}));
    }
    for (const auto& a : all) {
        ASSERT_EQ(a->times, 1);
        const auto code = a->as_not_sent() != nullptr ? a->as_not_sent()->code : a->as_no_answer()->code;
        EXPECT_EQ(code, make_error_code(errc::closed));
    }
}

TEST(node, handlers_may_submit) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    std::atomic<int> left{1000};
    std::function<void(outcome)> again = [&](outcome o) {
        if (std::get_if<reply>(&o) != nullptr && --left > 0) n.command({"PING"}, in(10s), again);
    };
    n.command({"PING"}, in(10s), again);
    EXPECT_TRUE(eventually(20s, [&] { return left == 0; }));
}

TEST(node, leaves_no_descriptor_and_no_thread_behind) {
    redis_server server;
    { io::reactor warm_up; }
    const auto fds = test::count_open_fds();
    const auto threads = test::count_threads();
    for (int i = 0; i < 20; ++i) {
        io::reactor reactor;
        node n{config_for(server.port()), reactor, {}};
        EXPECT_EQ(ask(n, {"PING"})->text(), "PONG");
    }
    EXPECT_TRUE(
        eventually(5s, [&] { return test::count_open_fds() == fds && test::count_threads() <= threads; }));
}

}  // namespace
}  // namespace holdfast::redis
