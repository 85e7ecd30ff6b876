// A node whose address comes from a source: its commands and subscriptions follow the address.
#include "asking_node.hpp"

#include "redis/connection/endpoint_source.hpp"
#include "support/fault_proxy.hpp"
#include "support/wire.hpp"

#include <holdfast/error.hpp>

#include <future>

namespace holdfast::redis {
namespace {

using test::eventually;
using test::fault_proxy;
using test::redis_server;
using test::wire;
using what = node_event::what;

// Gives the address that the test sets.
class scripted_source final : public endpoint_source {
  public:
    explicit scripted_source(io::reactor& r) : reactor_(r) {}

    // From the test's thread; takes effect before it returns. `notified`: followers get the change.
    enum class followers { notified, left_alone };
    void is(std::uint16_t port, followers f = followers::notified) {
        in_reactor([=, this] {
            place_ = {"127.0.0.1", port};
            const auto all = moved_;
            for (const auto& one : all)
                if (const auto moved = one.lock(); moved && f == followers::notified) (*moved)(*place_);
        });
    }
    void is_unknown() {
        in_reactor([this] { place_.reset(); });
    }
    [[nodiscard]] int asked() const { return asked_; }

    void where(std::function<void(const answer&)> done) override {
        ++asked_;
        reactor_.post([done = std::move(done), place = place_] {
            if (place) return done(*place);
            done(connect_failure{connect_failure::what::unreachable, {errc::unavailable, "nobody knows"}});
        });
    }
    std::shared_ptr<void> follow(std::function<void(const host_port&)> moved) override {
        auto kept = std::make_shared<std::function<void(const host_port&)>>(std::move(moved));
        moved_.push_back(kept);
        return kept;
    }

  private:
    template <class Fn>
    void in_reactor(Fn fn) {
        std::promise<void> done;
        reactor_.post([&] {
            fn();
            done.set_value();
        });
        done.get_future().wait();
    }

    io::reactor& reactor_;
    std::optional<host_port> place_;
    std::vector<std::weak_ptr<std::function<void(const host_port&)>>> moved_;
    std::atomic<int> asked_{0};
};

class following_node : public testing::Test {
  protected:
    following_node() {
        config.source = source;
        config.master_only = true;
        config.client_name = "node-test";
        config.command_timeout = test::patience;  // longer than a test holds replies back
        source->is(first.port());
    }
    void demote(redis_server& server, const redis_server& master) {
        ASSERT_EQ(server.command({"REPLICAOF", "127.0.0.1", std::to_string(master.port())}).text, "OK");
    }
    static bool has_client(redis_server& server) {
        return server.command({"CLIENT", "LIST"}).text.find("name=node-test") != std::string::npos;
    }

    redis_server first;
    redis_server second;
    io::reactor reactor;
    std::shared_ptr<scripted_source> source = std::make_shared<scripted_source>(reactor);
    node_config config;
    node_events events;
};

TEST_F(following_node, connects_to_the_new_address_and_reports_the_old_one) {
    node n{config, reactor, events.listener()};
    EXPECT_EQ(ask(n, {"SET", "k", "1"})->text(), "OK");
    EXPECT_EQ(events.last(what::up).moved_from, "");
    source->is(second.port());
    EXPECT_EQ(ask(n, {"GET", "k"})->text(), "");
    ASSERT_TRUE(events.soon(what::up, 2));
    EXPECT_EQ(events.last(what::up).moved_from, "127.0.0.1:" + std::to_string(first.port()));
    EXPECT_FALSE(events.last(what::up).restarted) << "it is another server";
    EXPECT_TRUE(eventually(test::patience, [&] { return !has_client(first); }));
}

TEST_F(following_node, asks_the_source_for_each_connection) {
    node n{config, reactor, events.listener()};
    EXPECT_EQ(ask(n, {"SET", "k", "1"})->text(), "OK");
    source->is(second.port(), scripted_source::followers::left_alone);
    EXPECT_EQ(ask(n, {"GET", "k"})->text(), "1") << "a working connection is kept";
    first.command({"CLIENT", "KILL", "TYPE", "normal"});
    EXPECT_TRUE(eventually(test::patience, [&] { return has_client(second); }));
}

TEST_F(following_node, keeps_commands_until_the_address_is_known) {
    source->is_unknown();
    node n{config, reactor, events.listener()};
    const auto in_vain = ask(n, {"PING"}, 50ms);
    run_io_until_here(n, *in_vain, in(test::patience));
    EXPECT_EQ(in_vain->text(), "not sent: nobody knows");
    const auto patient = send(n, {"SET", "k", "1"});
    EXPECT_TRUE(eventually(test::patience, [&] { return source->asked() > 2; }));
    source->is(second.port());
    EXPECT_TRUE(eventually(test::patience, [&] { return patient->here(); }));
    EXPECT_EQ(patient->text(), "OK");
}

TEST_F(following_node, rejects_a_server_that_is_not_the_master) {
    demote(first, second);
    node n{config, reactor, events.listener()};
    ASSERT_TRUE(events.soon(what::down));
    EXPECT_NE(events.last(what::down).why.text.find("is not the master, it says of itself: role:slave"),
              std::string::npos)
        << events.last(what::down).why.text;
    EXPECT_EQ(events.count(what::up), 0u);
    source->is(second.port());
    EXPECT_EQ(ask(n, {"SET", "k", "1"})->text(), "OK");
}

TEST_F(following_node, resends_commands_that_a_demoted_server_refused_in_order) {
    node n{config, reactor, events.listener()};
    ASSERT_EQ(ask(n, {"SET", "k", "0"})->text(), "OK");
    demote(first, second);
    source->is(second.port(),
               scripted_source::followers::left_alone);  // no message came: READONLY must suffice
    constexpr int many = 200;
    std::vector<answer_ptr> all;
    for (int i = 1; i <= many; ++i) all.push_back(send(n, {"APPEND", "line", std::to_string(i) + ","}));
    std::string expected;
    for (int i = 1; i <= many; ++i) {
        const auto& one = all[static_cast<std::size_t>(i) - 1];
        ASSERT_TRUE(eventually(test::patience, [&] { return one->here(); }));
        expected += std::to_string(i) + ",";
        EXPECT_EQ(one->text(), std::to_string(expected.size())) << i;
    }
    EXPECT_EQ(second.command({"GET", "line"}).text, expected);
    // The same for a caller that runs the I/O.
    demote(second, first);
    first.command({"REPLICAOF", "NO", "ONE"});
    source->is(first.port(), scripted_source::followers::left_alone);
    EXPECT_EQ(ask(n, {"SET", "k", "2"})->text(), "OK");
    EXPECT_EQ(first.command({"GET", "k"}).text, "2");
}

TEST_F(following_node, keeps_the_order_behind_a_refused_command) {
    fault_proxy between{first};
    source->is(between.port());
    node n{config, reactor, events.listener()};
    ASSERT_EQ(ask(n, {"SET", "k", "0"})->text(), "OK");
    demote(first, second);
    source->is(second.port(), scripted_source::followers::left_alone);
    for (int both = 0; both < 2; ++both) between.hold_reply_of(test::named("APPEND"));
    std::vector<answer_ptr> all;
    for (const auto* word : {"a", "b"}) all.push_back(send(n, {"APPEND", "line", word}));
    ASSERT_TRUE(eventually(test::patience, [&] { return between.count().rules_fired == 2; }));
    ASSERT_TRUE(eventually(test::patience, [&] { return between.count().replies_held == 1; }));
    between.release_replies();
    ASSERT_TRUE(eventually(test::patience, [&] { return between.count().replies_held == 1; }));
    // The first is refused, so nothing more is sent; the second is still to be answered.
    std::uint64_t sent = 0;
    ASSERT_TRUE(eventually(test::patience, [&] {
        sent = n.commands_sent();
        all.push_back(send(n, {"PING"}));
        return n.commands_sent() == sent;
    }));
    all.push_back(send(n, {"APPEND", "line", "c"}));
    between.release_replies();
    for (const auto& one : all) EXPECT_TRUE(eventually(test::patience, [&] { return one->here(); }));
    EXPECT_EQ(second.command({"GET", "line"}).text, "abc");
}

TEST_F(following_node, ends_a_command_that_is_refused_everywhere_at_its_deadline) {
    node n{config, reactor, events.listener()};
    ASSERT_EQ(ask(n, {"SET", "k", "0"})->text(), "OK");
    demote(first, second);
    const auto vain = send(n, {"SET", "k", "1"}, 300ms);
    ASSERT_TRUE(eventually(test::patience, [&] { return vain->here(); }));
    ASSERT_NE(vain->as_not_sent(), nullptr) << vain->text();
    EXPECT_EQ(vain->as_not_sent()->code, make_error_code(errc::unavailable));
    EXPECT_NE(vain->text().find("master"), std::string::npos) << vain->text();
}

TEST_F(following_node, has_no_answer_to_a_pending_command_when_the_address_changes) {
    wire between{first.port()};
    source->is(between.port());
    node n{config, reactor, events.listener()};
    ASSERT_EQ(ask(n, {"SET", "k", "0"})->text(), "OK");
    between.stall(true);
    const auto lost = send(n, {"SET", "k", "1"});
    ASSERT_TRUE(eventually(test::patience, [&] { return n.commands_sent() == 2; }));
    source->is(second.port());
    ASSERT_TRUE(eventually(test::patience, [&] { return lost->here(); }));
    ASSERT_NE(lost->as_no_answer(), nullptr) << lost->text();
    EXPECT_EQ(ask(n, {"SET", "k", "2"})->text(), "OK");
    EXPECT_EQ(second.command({"GET", "k"}).text, "2");
}

TEST_F(following_node, abandons_a_hanging_connect_when_the_address_changes) {
    wire between{first.port()};
    between.stall(true);
    source->is(between.port());
    config.connect_timeout = 60s;
    node n{config, reactor, events.listener()};
    const auto waits = send(n, {"SET", "k", "1"});
    ASSERT_TRUE(eventually(test::patience, [&] { return source->asked() > 0; }));
    source->is(second.port());
    ASSERT_TRUE(eventually(test::patience, [&] { return waits->here(); }));
    EXPECT_EQ(second.command({"GET", "k"}).text, "1");
}

TEST_F(following_node, moves_its_subscriptions) {
    std::atomic<int> subscribed{0};
    std::atomic<int> broken{0};
    std::atomic<int> messages{0};
    node n{config, reactor, events.listener()};
    const auto token = n.subscribe("ch", [&](const sub_event& e) {
        subscribed += e.kind == sub_event::what::subscribed;
        broken += e.kind == sub_event::what::broken;
        messages += e.kind == sub_event::what::message;
    });
    ASSERT_TRUE(eventually(test::patience, [&] { return subscribed == 1; }));
    source->is(second.port());
    ASSERT_TRUE(eventually(test::patience, [&] { return subscribed == 2; }));
    EXPECT_EQ(broken, 1);
    EXPECT_EQ(second.command({"PUBLISH", "ch", "x"}).number, 1);
    EXPECT_TRUE(eventually(test::patience, [&] {
        return first.command({"PUBLISH", "ch", "x"}).number == 0;
    }));
    EXPECT_TRUE(eventually(test::patience, [&] { return messages == 1; }));
}

TEST_F(following_node, rejects_a_replica_for_subscriptions_too) {
    demote(first, second);
    std::atomic<int> subscribed{0};
    node n{config, reactor, events.listener()};
    const auto token =
        n.subscribe("ch", [&](const sub_event& e) { subscribed += e.kind == sub_event::what::subscribed; });
    ASSERT_TRUE(eventually(test::patience, [&] { return source->asked() > 6; }));
    EXPECT_EQ(subscribed, 0);
    source->is(second.port());
    EXPECT_TRUE(eventually(test::patience, [&] { return subscribed == 1; }));
}

}  // namespace
}  // namespace holdfast::redis
