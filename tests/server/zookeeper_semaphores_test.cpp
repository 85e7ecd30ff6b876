// Semaphores in ZooKeeper: with whom they are shared, who waits, and what is refused.
#include "server/zookeeper_semaphores.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/zookeeper_snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <stop_token>
#include <vector>

namespace holdfast::test {
namespace {

// --- shared with Curator ----------------------------------------------------------------------------------

TEST_F(zookeeper_semaphores, are_shared_with_curator) {
    const auto c = new_client();
    auto mine = seats(*c, 2);
    const auto held = mine.acquire();
    zookeeper_client curator{servers->port()};
    const auto theirs = create_in(curator, permits, curators("lease-"));
    ASSERT_NE(theirs, "");
    EXPECT_FALSE(mine.try_acquire());
    EXPECT_EQ(mine.available_permits(), 0);
    const auto seen = admin::inspect(*c, "seats");
    ASSERT_EQ(seen.holders.size(), 2U);
    EXPECT_EQ(seen.holders[1].host, "10.0.0.7");
    EXPECT_EQ(seen.count, 0);
    auto waiter = in_background([&] { return mine.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return curator.children(line).size() == 1; }));
    curator.ask(zk::remove(theirs));
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_TRUE(curator.children(line).empty());
}

TEST_F(zookeeper_semaphores, wait_behind_a_curator_that_waits) {
    const auto c = new_client();
    auto mine = seats(*c, 1);
    auto held = mine.acquire();
    zookeeper_client curator{servers->port()};
    curator.ask(zk::create(line, "", zk::lifetime::container, zk::access::anyone));
    const auto place = create_in(curator, line, curators("lock-"));
    const auto theirs = create_in(curator, permits, curators("lease-"));
    auto waiter = in_background([&] { return mine.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return curator.children(line).size() == 2; }));
    held.release();
    EXPECT_EQ(curator.children(permits).size(), 1U) << "it holds the permit, and leaves the line";
    curator.ask(zk::remove(place));
    EXPECT_FALSE(mine.try_acquire());
    curator.ask(zk::remove(theirs));
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(zookeeper_semaphores, have_a_number_of_permits_that_is_a_shared_count_of_curator) {
    const auto c = new_client();
    counting_semaphore mine{*c, "seats"};
    zookeeper_client curator{servers->port()};
    for (const auto* const path : {"/locks", "/locks/seats"})
        curator.ask(zk::create(path, "", zk::lifetime::container, zk::access::anyone));
    curator.ask(
        zk::create("/locks/seats/count", {"\0\0\0\2", 4}, zk::lifetime::persistent, zk::access::anyone));
    EXPECT_EQ(mine.available_permits(), 2);
    const auto held = mine.acquire({.permits = 2});
    auto waiter = in_background([&] { return mine.acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return curator.children(line).size() == 1; }));
    curator.ask(zk::set_data("/locks/seats/count", {"\0\0\0\3", 4}, zk::any_version));
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_EQ(mine.add_permits(255), 256);
    const auto data = zk::parse_data(curator.ask(zk::get_data("/locks/seats/count", zk::watch::no)));
    ASSERT_TRUE(data);
    EXPECT_EQ(data->data.substr(0, 4), (std::string{"\0\0\1\2", 4}));
}

TEST_F(zookeeper_semaphores, release_a_permit_by_the_name_of_its_node) {
    const auto c = new_client();
    permit_semaphore mine{*c, "seats", {.total = 2}};
    const auto held = mine.acquire();
    zookeeper_client curator{servers->port()};
    const auto theirs = create_in(curator, permits, curators("lease-"));
    EXPECT_TRUE(mine.release(theirs.substr(theirs.rfind('/') + 1)));
    EXPECT_FALSE(mine.release(theirs.substr(theirs.rfind('/') + 1)));
    const auto nodes = curator.children(permits);
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_TRUE(mine.release(nodes[0]));
    EXPECT_EQ(mine.available_permits(), 2);
}

// --- who waits, and who is kept out -----------------------------------------------------------------------

TEST_F(zookeeper_semaphores, serve_waiters_in_the_order_of_their_arrival) {
    const auto holder = new_client();
    auto held = seats(*holder, 1).acquire();
    zookeeper_client other{servers->port()};
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::future<int>> waiters;
    std::atomic<int> served{0};
    for (std::size_t i = 0; i < 3; ++i) {
        clients.push_back(new_client());
        waiters.push_back(in_background([&, on = clients.back().get()] {
            const auto mine = seats(*on, 1).acquire();
            return mine.valid() ? ++served : 0;
        }));
        ASSERT_TRUE(eventually(patience, [&] { return other.children(line).size() == i + 1; }));
    }
    held.release();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(waiters[static_cast<std::size_t>(i)].get(), i + 1);
}

TEST_F(zookeeper_semaphores, keep_nobody_out_for_a_waiter_that_wants_more_than_there_are) {
    const auto c = new_client();
    const auto greedy = new_client();
    std::stop_source enough;
    (void)seats(*c, 3).acquire();
    auto waiter = in_background([&] {
        std::error_code why;
        (void)seats(*greedy, 3).acquire({.stop = enough.get_token(), .permits = 4}, why);
        return why;
    });
    ASSERT_TRUE(eventually(patience, [&] { return greedy->stats().attempts.busy >= 1; }));
    auto three = seats(*c, 3).acquire({.permits = 3});
    EXPECT_TRUE(three.valid()) << "it waits outside of the line";
    auto next = in_background([&] { return seats(*c, 3).acquire(); });
    three.release();
    EXPECT_TRUE(next.get().valid());
    enough.request_stop();
    EXPECT_EQ(waiter.get(), errc::cancelled);
}

// --- what is refused --------------------------------------------------------------------------------------

TEST_F(zookeeper_semaphores, are_refused_where_kazoo_or_a_latch_has_the_name) {
    const auto c = new_client();
    zookeeper_client kazoo{servers->port()};
    for (const auto* const path : {"/locks", "/locks/seats"})
        kazoo.ask(zk::create(path, "", zk::lifetime::container, zk::access::anyone));
    kazoo.ask(zk::create("/locks/seats/0123456789abcdef0123456789abcdef", "me", zk::lifetime::ephemeral,
                         zk::access::anyone));
    std::error_code why;
    EXPECT_FALSE(seats(*c, 2).try_acquire(why));
    EXPECT_EQ(why, errc::wrong_kind);
    EXPECT_EQ(kazoo.children("/locks/seats").size(), 1U) << "nothing of ours is left";
    latch done{*c, "done"};
    done.try_set_count(2);
    EXPECT_FALSE(counting_semaphore(*c, "done", {.total = 2}).try_acquire(why));
    EXPECT_EQ(why, errc::wrong_kind);
    EXPECT_EQ(code_of([&] { (void)latch(*c, "seats").try_set_count(1); }), errc::wrong_kind);
}

TEST_F(zookeeper_semaphores, grant_at_most_a_thousand_permits_at_once) {
    auto how = settings_for(servers->url(), 30s);
    how.answer_timeout = 20s;  // a thousand permits are many messages for a busy machine
    client c{how};
    auto mine = seats(c, 5'000);
    std::error_code why;
    EXPECT_FALSE(mine.try_acquire({.permits = 1'001}, why));
    EXPECT_EQ(why, errc::invalid_argument);
    auto held = mine.acquire({.permits = 1'000});
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(mine.available_permits(), 4'000);
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(mine.available_permits(), 5'000);
}

class zookeeper_semaphore_numbers : public zookeeper_semaphores {
  protected:
    zookeeper_semaphore_numbers() {
        constexpr std::int32_t refused_from = 2147483647 - 1'000'000 + 1;
        wanted.snapshot = zookeeper_snapshot({{"/locks"}, {"/locks/seats"}, {permits, refused_from - 1}});
    }
};

TEST_F(zookeeper_semaphore_numbers, are_refused_before_they_stick) {
    const auto c = new_client();
    auto mine = seats(*c, 2);
    const auto last = mine.try_acquire();
    EXPECT_TRUE(last) << "the last number";
    std::error_code why;
    EXPECT_FALSE(mine.try_acquire(why));
    EXPECT_EQ(why, errc::out_of_memory);
    EXPECT_EQ(mine.available_permits(), 1) << "nothing of it is left";
    const auto all = admin::examine(*c, {}).findings;
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const finding& f) {
        return f.id == "zookeeper-sequence" && f.how_bad == severity::danger;
    }));
}

// --- for operators ----------------------------------------------------------------------------------------

TEST_F(zookeeper_semaphores, are_given_up_by_a_holder_that_an_operator_asks) {
    const auto c = new_client(30s);
    const auto operators = new_client();
    permit_semaphore mine{*c, "seats", {.total = 3}};
    const auto held = mine.acquire({.permits = 2});
    const auto seen = admin::inspect(*operators, "seats");
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].owner, held.owner().str());
    EXPECT_EQ(seen.holders[0].holds, 2U);
    EXPECT_EQ(seen.layout, "permit_semaphore");
    EXPECT_TRUE(admin::evict(*operators, "seats"));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(mine.available_permits(), 3);
}

}  // namespace
}  // namespace holdfast::test
