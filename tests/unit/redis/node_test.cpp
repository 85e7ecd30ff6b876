// A node against a real server: commands, scripts, and its end.
#include "asking_node.hpp"

#include "support/fault_proxy.hpp"
#include "support/forked.hpp"

#include <holdfast/error.hpp>

#include <thread>

#include <unistd.h>

namespace holdfast::redis {
namespace {

using test::eventually;
using test::fault_proxy;
using test::redis_server;
using what = node_event::what;

TEST(node, answers_a_caller_that_runs_io) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    EXPECT_EQ(ask(n, {"SET", "k", "v"})->text(), "OK");
    EXPECT_EQ(ask(n, {"GET", "k"})->text(), "v");
    EXPECT_EQ(ask(n, {"INCR", "k"})->as_reply()->kind(), reply::type::error);
    EXPECT_EQ(n.commands_sent(), 3u);
    EXPECT_GT(n.smoothed_rtt(), 0ns);
}

TEST(node, answers_a_sender_that_does_not_run_io) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    for (int i = 0; i < 100; ++i) {
        const auto a = send(n, {"ECHO", std::to_string(i)});
        ASSERT_TRUE(eventually(test::patience, [&] { return a->here(); }));
        EXPECT_EQ(a->text(), std::to_string(i));
    }
}

TEST(node, reports_the_server_and_its_restart) {
    redis_server server;
    io::reactor reactor;
    node_events events;
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

TEST(node, works_over_a_unix_socket) {
    redis_server server;
    io::reactor reactor;
    node_config c;
    c.unix_path = server.socket_path();
    node n{c, reactor, {}};
    EXPECT_EQ(ask(n, {"PING"})->text(), "PONG");
}

TEST(node, sets_its_client_name_and_database) {
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
                // Some do not run I/O, so that the reactor and the callers take turns.
                const auto a = t % 8 == 7 ? send(n, {"ECHO", payload}) : ask(n, {"ECHO", payload});
                if (t % 8 == 7) run_io_until_here(n, *a, in(test::patience));
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
        ASSERT_TRUE(eventually(test::patience, [&] { return all[i]->here(); })) << i;
        ASSERT_EQ(all[i]->text(), big + std::to_string(i));
    }
}

TEST(node, reads_a_reply_larger_than_its_buffers) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    const std::string big(5'000'000, 'b');
    EXPECT_EQ(ask(n, {"SET", "big", big})->text(), "OK");
    EXPECT_EQ(ask(n, {"GET", "big"})->text(), big);
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
            n.eval(script, {}, args, in(test::patience), into(a));
            ASSERT_TRUE(eventually(test::patience, [&] { return a->here(); }));
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
        n.evals(calls, in(test::patience), [&](std::vector<outcome> all) {
            got = std::move(all);
            done = true;
        });
        ASSERT_TRUE(eventually(test::patience, [&] { return done.load(); }));
        ASSERT_EQ(got.size(), 3u);
        EXPECT_EQ(std::get<reply>(got[0]).text(), "a");
        EXPECT_EQ(std::get<reply>(got[1]).text(), "b");
        EXPECT_EQ(std::get<reply>(got[2]).text(), "c");
    }
}

#if !defined(__SANITIZE_THREAD__)  // TSan starts a thread of its own in the child
TEST(node, can_be_abandoned_and_destroyed_in_a_forked_child) {
    redis_server server;
    auto reactor = std::make_unique<io::reactor>();
    auto n = std::make_unique<node>(config_for(server.port()), *reactor, nullptr);
    auto token = n->subscribe("ch", [](const sub_event&) {});
    ASSERT_EQ(ask(*n, {"PING"})->text(), "PONG");
    const int end = test::in_forked_child([&] {
        reactor->abandon();
        n->abandon();
        n.reset();
        reactor.reset();
        return 7;
    });
    EXPECT_EQ(end, 7);
    EXPECT_EQ(ask(*n, {"PING"})->text(), "PONG") << "the parent still works";
    token.reset();
}
#endif

TEST(node, destructor_ends_every_command_once) {
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

TEST(node, handlers_may_send_commands) {
    redis_server server;
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    std::atomic<int> left{1000};
    std::function<void(outcome)> again = [&](outcome o) {
        if (std::get_if<reply>(&o) != nullptr && --left > 0) n.command({"PING"}, in(test::patience), again);
    };
    n.command({"PING"}, in(test::patience), again);
    EXPECT_TRUE(eventually(test::patience, [&] { return left == 0; }));
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
    EXPECT_TRUE(eventually(
        test::patience, [&] { return test::count_open_fds() == fds && test::count_threads() <= threads; }));
}

}  // namespace
}  // namespace holdfast::redis
