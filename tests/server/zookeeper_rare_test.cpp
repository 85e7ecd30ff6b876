// Locks in ZooKeeper, when servers do what they rarely do: a server in memory does it on cue.
#include "io/reactor.hpp"
#include "server/fake_zookeeper.hpp"
#include "server/zookeeper_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"
#include "support/stalls.hpp"
#include "zookeeper/session.hpp"

#include <algorithm>
#include <atomic>
#include <future>

namespace holdfast::test {
namespace {

using fate = fake_zookeeper::reaction::fate;

class zookeeper_rarely : public ::testing::Test {
  protected:
    static constexpr const char* another = "_c_11111111-2222-4333-8444-555555555555-";

    void SetUp() override { server.create("/locks"); }
    [[nodiscard]] std::unique_ptr<client> new_client(std::chrono::milliseconds lease = 30s) const {
        return std::make_unique<client>(settings_for(server.url(), lease));
    }
    [[nodiscard]] std::vector<std::string> nodes(const std::string& name) const {
        return server.children("/locks/" + name);
    }

    fake_zookeeper server;
};

// --- sessions ---------------------------------------------------------------------------------------------

TEST_F(zookeeper_rarely, a_session_gets_less_time_when_it_moves_and_its_leases_too) {
    server.grant(20'000);
    const auto c = new_client(15s);
    const auto held = mutex(*c, "stock").acquire({.ttl = 60s});
    const auto first = held.deadline();
    EXPECT_GT(first, boot_clock::now() + 10s);
    server.grant(3'000);
    // No request is answered from now on, so nothing is proved.
    server.set_rule([](const fake_zookeeper::asked&) {
        return fake_zookeeper::reaction{fate::silence, {}, {}};
    });
    server.cut_all();
    ASSERT_TRUE(eventually(patience, [&] { return server.logins() >= 2; }));
    EXPECT_TRUE(eventually(1s * slower, [&] { return held.deadline() < boot_clock::now() + 3s; }))
        << "the leader ends the session 3 s after the login";
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_LT(boot_clock::now(), first - 5s) << "the loss is reported in time";
}

TEST_F(zookeeper_rarely, sessions_that_are_too_short_to_be_proved_are_refused) {
    server.grant(2'000);
    client c{settings_for("zk://" + server.host(), 30s)};  // tick=2s
    std::error_code why;
    EXPECT_FALSE(mutex(c, "stock").try_acquire(why));
    EXPECT_EQ(why, errc::invalid_argument);
    EXPECT_TRUE(nodes("stock").empty());
}

TEST_F(zookeeper_rarely, a_client_whose_session_was_lost_with_its_lease_is_idle) {
    server.grant(1'000);
    const auto c = new_client(1s);
    event_recorder events{*c};
    const auto held = mutex(*c, "stock").acquire();
    server.end_sessions();
    ASSERT_TRUE(events.next(event_kind::lost));
    const auto pings = [&] { return server.seen(zk::op::ping); };
    const auto before = pings();
    EXPECT_TRUE(eventually(5s * slower, [&] { return pings() >= before + 3; }))
        << "a client that proves its session sends none";
}

TEST_F(zookeeper_rarely, a_server_that_hangs_up_after_each_login_is_not_asked_all_the_time) {
    const auto c = new_client();
    (void)mutex(*c, "stock").acquire();
    server.hang_up(true);
    server.cut_all();
    EXPECT_FALSE(eventually(1s, [&] { return server.logins() > 100; }));
    server.hang_up(false);
    EXPECT_TRUE(mutex(*c, "stock").try_acquire_for(patience));
}

TEST_F(zookeeper_rarely, a_request_whose_time_is_over_is_not_sent) {
    io::reactor reactor;
    const auto session = std::make_shared<zk::session>(
        zk::session_config{.servers = {{{.host = "127.0.0.1", .port = server.port()}, nullptr}}}, reactor,
        zk::session::events{[](const auto&) {}, [](const auto&, auto) {}, [](const auto&) {},
                            [](const auto&) {}, [](auto) {}});
    const auto outcome_by = [&](boot_clock::time_point deadline) {
        std::promise<zk::answer::outcome> how;
        std::vector<zk::session::call> calls;
        calls.push_back({zk::sync("/"), [&](const zk::answer& a) { how.set_value(a.how); }});
        session->submit(std::move(calls), deadline);
        return how.get_future().get();
    };
    EXPECT_EQ(outcome_by(boot_clock::now() + patience), zk::answer::outcome::answered);
    EXPECT_EQ(outcome_by(boot_clock::now() - 1ms), zk::answer::outcome::not_sent);
    EXPECT_EQ(server.seen(zk::op::sync), 1U);
    session->close(boot_clock::now() + 1s);
}

TEST_F(zookeeper_rarely, leases_with_long_names_are_proved) {
    server.grant(2'000 * slower);
    const auto c = new_client();
    std::vector<lease> all;
    // Escaped, each has 3 kB: more than fit into one request. Under a sanitizer so many take minutes.
    constexpr int many = slower > 1 ? 40 : 360;
    for (int i = 0; i < many; ++i)
        all.push_back(mutex(*c, std::to_string(i) + std::string(1'000, '\x01')).acquire({.ttl = 10min}));
    const auto until = all.front().deadline();
    EXPECT_TRUE(eventually(10s * slower, [&] { return all.front().deadline() > until + 4s; }));
    EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](const lease& l) { return l.valid(); }));
}

// A release without an answer, and the end of the session: both wait for the server.
TEST_F(zookeeper_rarely, the_end_of_a_client_takes_no_longer_than_its_close_timeout) {
    auto how = settings_for(server.url(), 30s);
    how.answer_timeout = 30s;
    how.close_timeout = 1s * slower;
    auto c = std::make_unique<client>(how);
    const auto held = mutex(*c, "stock").acquire();
    server.set_rule([](const fake_zookeeper::asked&) {
        return fake_zookeeper::reaction{fate::silence, {}, {}};
    });
    const auto began = boot_clock::now();
    c.reset();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(boot_clock::now() - began);
    EXPECT_LT(took, how.close_timeout + limit_of_a_busy_machine{900ms * slower});
}

// --- evictions --------------------------------------------------------------------------------------------

TEST_F(zookeeper_rarely, a_holder_is_asked_again_when_the_request_was_lost) {
    const auto c = new_client();
    event_recorder events{*c};
    mutex stock{*c, "stock"};
    const auto held = stock.acquire();
    // It listens.
    const auto operators = new_client();
    std::atomic<bool> lost{false};
    server.set_rule([&](const fake_zookeeper::asked& q) {
        fake_zookeeper::reaction how;
        if (q.what == zk::op::set_data && !lost.exchange(true)) how.how = fate::lost;
        return how;
    });
    admin::eviction done;
    EXPECT_TRUE(eventually(patience, [&] {
        try {
            done = admin::evict(*operators, "stock", {.wait = 5s});
            return true;
        } catch (const error&) {
            return false;
        }
    }));
    EXPECT_TRUE(lost);
    ASSERT_EQ(done.from.size(), 1U);
    EXPECT_EQ(done.from[0].how, admin::evicted_holder::way::gave_up);
    EXPECT_FALSE(held.valid());
}

TEST_F(zookeeper_rarely, a_request_to_release_deletes_no_node_of_others) {
    server.create("/treasure");
    const auto c = new_client();
    event_recorder events{*c};
    mutex stock{*c, "stock"};
    const auto held = stock.acquire();
    zookeeper_client thief{server.port()};
    // Its client begins to listen when the lease is a moment old.
    EXPECT_TRUE(eventually(patience, [&] {
        for (const auto& node : nodes("stock"))
            thief.ask(zk::set_data("/locks/stock/" + node, "__REVOKE__ /treasure", zk::any_version));
        return !held.valid() && nodes("stock").empty();
    }));
    EXPECT_TRUE(server.has("/treasure"));
}

// --- lost answers -----------------------------------------------------------------------------------------

// A follower shows the deletion of the node before ours, but not yet that of our own.
TEST_F(zookeeper_rarely, a_node_that_may_be_deleted_grants_nothing) {
    const auto before = "/locks/stock/" + std::string{another} + "lock-0000000000";
    const auto behind = "/locks/stock/" + std::string{another} + "lock-0000000002";
    server.create("/locks/stock");
    server.create(before);
    const auto c = new_client();
    const auto proved = mutex(*c, "other").acquire();
    std::atomic<bool> lost{false}, synced{false};
    std::vector<std::string> stale;
    server.set_rule([&](const fake_zookeeper::asked& q) {
        fake_zookeeper::reaction how;
        if (!q.path.starts_with("/locks/stock")) return how;
        if (q.what == zk::op::remove && !lost) {
            stale = {q.path.substr(q.path.rfind('/') + 1)};
            server.remove(before);
            server.create(behind);
            server.refuse_logins(true);
            lost = true;
            how.how = fate::answer_lost;
        }
        if (q.what == zk::op::sync) synced = true;
        if (q.what == zk::op::get_children && lost && !synced) how.listing = stale;
        return how;
    });
    recursive_mutex stock{*c, "stock", {.wake = wake::poll}};
    auto waiter = in_background([&] { return stock.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return lost && server.logins() >= 4; }));
    server.refuse_logins(false);
    const auto listings = server.seen(zk::op::get_children);
    const auto granted = [&] { return waiter.wait_for(0s) == std::future_status::ready; };
    ASSERT_TRUE(
        eventually(patience, [&] { return granted() || server.seen(zk::op::get_children) > listings + 3; }));
    EXPECT_FALSE(granted()) << "two holders";
    server.remove(behind);
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(zookeeper_rarely, a_downgrade_without_an_answer_is_refused_when_the_writer_is_gone) {
    const auto c = new_client();
    shared_mutex list{*c, "list"};
    const auto writing = list.acquire();
    std::atomic<bool> lost{false};
    server.set_rule([&](const fake_zookeeper::asked& q) {
        fake_zookeeper::reaction how;
        if (q.what != zk::op::create || q.path.find("__READ__") == std::string::npos || lost.exchange(true))
            return how;
        for (const auto& name : nodes("list")) server.remove("/locks/list/" + name);
        server.create("/locks/list/" + std::string{another} + "__WRIT__0000000007");
        how.how = fate::answer_lost;
        return how;
    });
    EXPECT_EQ(code_of([&] { (void)list.acquire_shared(writing); }), errc::lost);
    EXPECT_TRUE(lost);
    EXPECT_TRUE(eventually(patience, [&] { return nodes("list").size() == 1; })) << "that of the next writer";
}

}  // namespace
}  // namespace holdfast::test
