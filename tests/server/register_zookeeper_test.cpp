// Registers in ZooKeeper, when servers do not know the latest change.
#include "server/register_scene.hpp"
#include "server/zookeeper_scene.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace holdfast::test {
namespace {

register_value write_to(register_client& by, std::uint64_t expected, const std::string& text) {
    return value_in(by.change(expected, text)).value_or(register_value{});
}

// It still serves reads: its clients would take the old text for the mode, some ten seconds too long.
TEST_F(zookeeper_cut_followers, do_not_answer_what_a_register_held) {
    register_client at_leader{url_of(leader)};
    register_client at_follower{url_of(follower), 2s};
    register_client knowing{url_of(follower), 2s};  // each ends its connection when no answer comes
    zookeeper_client bare{servers->port(follower)};
    const auto old = write_to(at_leader, 0, "R");
    EXPECT_EQ(value_in(at_follower.read()), old);
    EXPECT_EQ(value_in(knowing.read(old)), old);
    const auto directory = std::string{"/locks/%registers/mode"};
    const auto node_before = bare.children(directory);
    servers->cut_between(leader, follower);
    const auto now = write_to(at_leader, old.version, "F");
    ASSERT_EQ(now.text, "F");
    ASSERT_EQ(bare.children(directory), node_before) << "the follower does not serve its old data";
    EXPECT_TRUE(failure_in(at_follower.read()));
    EXPECT_TRUE(failure_in(knowing.read(old)));
    // It cannot be written there, and it is not known whether that comes true later.
    EXPECT_TRUE(failure_in(at_follower.change(old.version, "R again")));
    servers->heal();
    EXPECT_EQ(at_follower.read_in_time(), now);
    EXPECT_EQ(value_in(at_leader.read(now)), now);
}

TEST_F(zookeeper_cut_followers, do_not_answer_that_a_register_was_never_written) {
    register_client at_leader{url_of(leader)};
    register_client at_follower{url_of(follower), 2s};
    EXPECT_EQ(value_in(at_follower.read()), register_value{});
    servers->cut_between(leader, follower);
    ASSERT_EQ(write_to(at_leader, 0, "R").text, "R");
    EXPECT_TRUE(failure_in(at_follower.read()));
}

// A leader that was stopped so long that there is another one, and does not know it yet.
TEST_F(zookeeper_ensembles, do_not_answer_what_a_register_held_when_an_old_leader_goes_on) {
    const auto old_leader = servers->leader();
    register_client at_old_leader{"zk://" + servers->host(old_leader) + "?tick=200ms", 60s};
    const auto old = write_to(at_old_leader, 0, "R");
    register_client elsewhere{"zk://" + servers->host((old_leader + 1) % 3) + "," +
                                  servers->host((old_leader + 2) % 3) + "?tick=200ms",
                              60s};
    EXPECT_EQ(value_in(elsewhere.read()), old);
    servers->pause(old_leader);
    register_value now;
    EXPECT_TRUE(eventually(patience, [&] {
        now = value_in(elsewhere.change(old.version, "F")).value_or(register_value{});
        return now.text == "F";
    }));
    auto late = at_old_leader.ask_to_read(old);
    auto unknowing = at_old_leader.ask_to_read();
    servers->resume(old_leader);
    for (auto* const answer : {&late, &unknowing}) {
        const auto value = value_in(answer->get());
        EXPECT_TRUE(!value || *value == now) << value->text;
    }
    EXPECT_EQ(at_old_leader.read_in_time(), now);
}

// The version of a node begins at 0 again, and so would that of a register that relied on it.
TEST_F(zookeeper_locks, do_not_make_an_old_text_of_a_register_true_when_its_nodes_are_made_again) {
    register_client knowing{servers->url()};
    register_client other{servers->url()};
    const auto old = write_to(knowing, 0, "R");
    zookeeper_client by_hand{servers->port()};
    const std::string directory = "/locks/%registers/mode";
    for (const auto& node : by_hand.children(directory)) by_hand.ask(zk::remove(directory + '/' + node));
    by_hand.ask(zk::remove(directory));
    EXPECT_EQ(value_in(knowing.read(old)), register_value{}) << "it was deleted";
    EXPECT_EQ(value_in(knowing.change(old.version, "RF")), register_value{});
    const auto now = write_to(other, 0, "F");
    EXPECT_NE(now.version, old.version);
    EXPECT_EQ(value_in(knowing.read(old)), now);
    EXPECT_EQ(value_in(knowing.change(old.version, "RF")), now);
}

TEST_F(zookeeper_locks, do_not_answer_what_was_written_into_a_register_by_hand) {
    register_client c{servers->url()};
    const auto written = write_to(c, 0, "R");
    zookeeper_client by_hand{servers->port()};
    const std::string directory = "/locks/%registers/mode";
    by_hand.ask(zk::set_data(directory + '/' + by_hand.children(directory).at(0), "F", zk::any_version));
    EXPECT_EQ(failure_in(c.read()), errc::wrong_kind);
    EXPECT_EQ(failure_in(c.read(written)), errc::wrong_kind);
    EXPECT_EQ(failure_in(c.change(written.version, "RF")), errc::wrong_kind);
}

// Servers delete containers that had children and have none left.
TEST_F(zookeeper_locks, keep_registers_in_directories_that_servers_do_not_delete) {
    register_client c{servers->url()};
    (void)write_to(c, write_to(c, 0, "R").version, "F");
    zookeeper_client by_hand{servers->port()};
    for (const auto* const path : {"/locks/%registers", "/locks/%registers/mode"}) {
        const auto node = zk::parse_data(by_hand.ask(zk::get_data(path, zk::watch::no)));
        ASSERT_TRUE(node) << path;
        EXPECT_EQ(node->about.ephemeral_owner, 0) << path << " is a container";
        EXPECT_EQ(node->about.num_children, 1) << path;
    }
}

TEST_F(zookeeper_locks, report_a_change_of_a_register_whose_answer_is_lost_as_unknown) {
    zookeeper_losses losses;
    wire to_server{servers->port(), wire::memory::none, losses.taps()};
    register_client c{"zk://127.0.0.1:" + std::to_string(to_server.port()) + "?tick=200ms"};
    const auto first = write_to(c, 0, "R");
    losses.lose_answer_of(static_cast<std::int32_t>(zk::op::multi));
    EXPECT_EQ(failure_in(c.change(first.version, "F")), errc::unknown_outcome);
    const auto now = c.read_in_time();
    EXPECT_EQ(now.text, "F") << "the server had carried it out";
    losses.lose_answer_of(static_cast<std::int32_t>(zk::op::multi));
    EXPECT_EQ(failure_in(c.read(now)), errc::unavailable) << "nothing was changed";
}

}  // namespace
}  // namespace holdfast::test
