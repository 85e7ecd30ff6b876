// Which thread reads the replies of a node: callers that come and go, or the reactor if they cannot.
#include "asking_node.hpp"

#include "support/fault_proxy.hpp"

#include <csignal>
#include <fstream>
#include <semaphore>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace holdfast::redis {
namespace {

using test::eventually;
using test::fault_proxy;
using test::redis_server;

// The caller hangs in a signal handler, like a thread that gets no CPU: it holds the role and reads nothing.
std::binary_semaphore* stuck = nullptr;
std::binary_semaphore* unstick = nullptr;
extern "C" void stay_stuck(int) {
    stuck->release();
    unstick->acquire();
}

TEST(node, the_reactor_reads_for_a_caller_that_is_not_scheduled) {
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
    answer_ptr callers;
    std::atomic<pid_t> callers_id{0};
    std::thread caller{[&] {
        callers_id = ::gettid();
        callers = ask(n, {"ECHO", "caller"}, 30s);
    }};
    ASSERT_TRUE(eventually(test::patience, [&] { return proxy.count().replies_held == 1; }));
    // In poll(): an earlier signal could stop it while it holds a mutex, which is not tested here.
    ASSERT_TRUE(eventually(test::patience, [&] {
        std::ifstream stat{"/proc/self/task/" + std::to_string(callers_id) + "/stat"};
        std::string line;
        std::getline(stat, line);
        const auto name_ends = line.rfind(')');
        return name_ends + 2 < line.size() && line[name_ends + 2] == 'S';
    }));
    ::pthread_kill(caller.native_handle(), SIGUSR2);
    in_handler.acquire();
    proxy.release_replies();
    const auto a = send(n, {"PING"});
    EXPECT_TRUE(eventually(test::patience, [&] { return a->here(); })) << "the reactor stepped in";
    let_go.release();
    caller.join();
    EXPECT_EQ(callers->text(), "caller");
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
        const will_run_io here;
        n.command({"ECHO", "first"}, in(20s), into(first));
        while (!cancelled) {
            n.run_io(first->asker, in(20s));
            first->asker.consume();
        }
    }};
    ASSERT_TRUE(eventually(test::patience, [&] { return proxy.count().replies_held == 1; }));
    std::vector<std::thread> others;
    std::atomic<int> served{0};
    for (int i = 0; i < 4; ++i)
        others.emplace_back([&, i] {
            if (ask(n, {"ECHO", std::to_string(i)}, 20s)->text() == std::to_string(i)) ++served;
        });
    ASSERT_TRUE(eventually(test::patience, [&] { return proxy.count_of(test::named("ECHO")) == 5; }));
    cancelled = true;
    first->asker.unpark();
    leaver.join();
    proxy.release_replies();
    for (auto& t : others) t.join();
    EXPECT_EQ(served, 4);
    EXPECT_TRUE(eventually(test::patience, [&] { return first->here(); }))
        << "another thread reads the reply left behind";
}

TEST(node, a_caller_leaves_at_its_deadline) {
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

// The handler of its command asks replicas for confirmation, on another connection.
answer_ptr ask_and_confirm(node& n, const std::string& text) {
    const will_run_io here;
    const auto a = std::make_shared<answer>();
    const auto until = in(test::patience);
    n.command({"ECHO", text}, until, [&n, a, until](outcome&& echoed) {
        const auto got = std::get<reply>(echoed).text();
        const std::string_view args[] = {got};
        const node::eval_call call{{"return ARGV[1]", "098e0f0d1448c0a81dafe820f66d460eb09263da"},
                                   {},
                                   args,
                                   {.at_least = 1, .within = 5s}};
        n.evals({&call, 1}, until,
                [a](std::vector<outcome> all) { into(a)(take_apart(std::move(all.at(0))).of_script); });
    });
    run_io_until_here(n, *a, until);
    return a;
}

TEST(node, confirmations_reach_their_askers_whichever_thread_reads_them) {
    redis_server server;
    redis_server::options of_replica;
    of_replica.config = {"replicaof 127.0.0.1 " + std::to_string(server.port())};
    redis_server replica{of_replica};
    ASSERT_TRUE(eventually(test::patience, [&] { return server.command({"WAIT", "1", "100"}).number == 1; }));
    io::reactor reactor;
    node n{config_for(server.port()), reactor, {}};
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 100; ++i) {
                const auto text = std::to_string(t) + ":" + std::to_string(i);
                // Half of the threads ask for none, to disturb the others.
                const auto a = t % 2 == 0 ? ask_and_confirm(n, text) : ask(n, {"ECHO", text});
                right += a->text() == text && a->times == 1 ? 1 : 0;
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(right, 8 * 100);
}

}  // namespace
}  // namespace holdfast::redis
