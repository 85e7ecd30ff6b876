// Locks in ZooKeeper: with whom they are shared, and what others do to their nodes.
#include "server/zookeeper_scene.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"
#include "support/zookeeper_snapshot.hpp"

#include <algorithm>

namespace holdfast::test {
namespace {

// --- shared with others -----------------------------------------------------------------------------------

TEST_F(zookeeper_locks, are_shared_with_curator) {
    const auto c = new_client();
    mutex stock{*c, "stock"};
    zookeeper_client curator{servers->port()};
    for (const auto* const path : {"/locks", "/locks/stock"})
        curator.ask(zk::create(path, "", zk::lifetime::container, zk::access::anyone));
    const auto node = zk::parse_created(
        curator.ask(zk::create("/locks/stock/_c_11111111-2222-4333-8444-555555555555-lock-", "10.0.0.7",
                               zk::lifetime::ephemeral_sequential, zk::access::anyone)));
    ASSERT_TRUE(node);
    EXPECT_FALSE(stock.try_acquire());
    const auto seen = admin::inspect(*c, "stock");
    EXPECT_EQ(seen.layout, "Curator InterProcessMutex");
    EXPECT_FALSE(seen.ours);
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].host, "10.0.0.7");
    auto waiter = in_background([&] { return stock.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return curator.children("/locks/stock").size() == 2; }));
    curator.ask(zk::remove(node->path));
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(zookeeper_locks, are_not_shared_with_kazoo_and_say_so) {
    const auto c = new_client();
    mutex stock{*c, "stock"};
    zookeeper_client kazoo{servers->port()};
    for (const auto* const path : {"/locks", "/locks/stock"})
        kazoo.ask(zk::create(path, "", zk::lifetime::container, zk::access::anyone));
    kazoo.ask(zk::create("/locks/stock/0123456789abcdef0123456789abcdef__lock__", "me",
                         zk::lifetime::ephemeral_sequential, zk::access::anyone));
    std::error_code why;
    EXPECT_FALSE(stock.try_acquire(why));
    EXPECT_EQ(why, errc::wrong_kind);
    EXPECT_EQ(admin::inspect(*c, "stock").layout, "kazoo lock");
    EXPECT_EQ(kazoo.children("/locks/stock").size(), 1U) << "nothing of ours is left";
}

// kazoo's Lock makes its directory once, and needs it as long as it lives.
TEST_F(zookeeper_locks, with_the_names_of_kazoo_leave_their_directory) {
    client c{settings_for(servers->url() + "&names=kazoo")};
    (void)mutex(c, "stock").acquire();
    zookeeper_client kazoo{servers->port()};
    for (const auto* const path : {"/locks", "/locks/stock"}) {
        const auto directory = zk::parse_data(kazoo.ask(zk::get_data(path, zk::watch::no)));
        ASSERT_TRUE(directory) << path;
        EXPECT_EQ(directory->about.ephemeral_owner, 0) << path << " is a container";
    }
}

// --- nodes that others delete -----------------------------------------------------------------------------

TEST_F(zookeeper_locks, whose_node_somebody_deleted_are_lost) {
    const auto c = new_client(30s);
    event_recorder events{*c};
    mutex stock{*c, "stock"};
    const auto held = stock.acquire();
    zookeeper_client other{servers->port()};
    for (const auto& node : other.children("/locks/stock")) other.ask(zk::remove("/locks/stock/" + node));
    EXPECT_TRUE(events.next(event_kind::lost));
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(stock.try_acquire());
}

TEST_F(zookeeper_locks, have_fences_that_grow_when_the_directory_was_deleted) {
    const auto c = new_client();
    mutex ledger{*c, "ledger", {.fenced = true}};
    const auto first = ledger.acquire().fence();
    zookeeper_client other{servers->port()};
    ASSERT_TRUE(eventually(patience, [&] {
        other.ask(zk::remove("/locks/ledger"));
        return other.last == zk::code::ok || other.last == zk::code::no_node;
    }));
    const auto second = ledger.acquire().fence();
    EXPECT_GT(to_number(second), to_number(first));
}

// --- numbers that run out ---------------------------------------------------------------------------------

class zookeeper_numbers : public zookeeper_locks {
  protected:
    static constexpr std::int32_t stick_at = 2147483647;
    static constexpr std::int32_t refused_from = stick_at - 1'000'000 + 1;

    zookeeper_numbers() {
        wanted.snapshot = zookeeper_snapshot(
            {{"/locks"}, {"/locks/nearly", refused_from - 1}, {"/locks/stuck", stick_at - 1}});
    }
};

TEST_F(zookeeper_numbers, are_refused_before_they_stick) {
    const auto c = new_client();
    mutex nearly{*c, "nearly"};
    EXPECT_TRUE(nearly.try_acquire()) << "the last number";
    std::error_code why;
    EXPECT_FALSE(nearly.try_acquire(why));
    EXPECT_EQ(why, errc::out_of_memory);
    // Two nodes would have the same number.
    EXPECT_FALSE(mutex(*c, "stuck").try_acquire(why));
    EXPECT_EQ(why, errc::out_of_memory);
    zookeeper_client other{servers->port()};
    EXPECT_TRUE(other.children("/locks/nearly").empty()) << "nothing of ours is left";
    const auto all = admin::examine(*c, {}).findings;
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const finding& f) {
        return f.id == "zookeeper-sequence" && f.how_bad == severity::danger;
    }));
    other.ask(zk::remove("/locks/nearly"));
    EXPECT_TRUE(nearly.try_acquire()) << "the numbers start anew";
}

// --- for operators ----------------------------------------------------------------------------------------

TEST_F(zookeeper_locks, are_examined_by_the_doctor) {
    const auto c = new_client(3s);
    // The servers delete an empty directory.
    const auto held = mutex(*c, "stock").acquire();
    const auto all = admin::examine(*c, {});
    ASSERT_EQ(all.servers.size(), 1U);
    EXPECT_EQ(all.servers[0].role, "standalone");
    EXPECT_NE(all.servers[0].version, "");
    const auto found = [&](std::string_view id) -> const finding& {
        for (const auto& f : all.findings)
            if (f.id == id) return f;
        throw std::runtime_error{"there is no finding " + std::string{id}};
    };
    EXPECT_EQ(found("zookeeper-voters").how_bad, severity::note);
    EXPECT_EQ(found("zookeeper-force-sync").how_bad, severity::danger) << "these servers do not sync";
    EXPECT_NE(found("zookeeper-sequence").found.find("/locks/stock: 1"), std::string::npos)
        << found("zookeeper-sequence").found;
}

}  // namespace
}  // namespace holdfast::test
