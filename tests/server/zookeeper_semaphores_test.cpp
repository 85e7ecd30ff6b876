// Semaphores in ZooKeeper: with whom they are shared, and what happens when answers, sessions or nodes are
// lost.
#include "server/zookeeper_scene.hpp"
#include "support/background.hpp"
#include "support/child_process.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"
#include "support/zookeeper_snapshot.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

// A client of Curator takes its place in the line, creates its permit, and holds it once there are not too
// many.
std::string curators(const std::string& mark) { return "_c_11111111-2222-4333-8444-555555555555-" + mark; }

std::string create_in(zookeeper_client& with, const std::string& directory, const std::string& name) {
    const auto made = zk::parse_created(with.ask(zk::create(
        directory + '/' + name, "10.0.0.7", zk::lifetime::ephemeral_sequential, zk::access::anyone)));
    return made ? made->path : std::string{};
}

class zookeeper_semaphores : public zookeeper_locks {
  protected:
    static constexpr const char* permits = "/locks/seats/leases";
    static constexpr const char* line = "/locks/seats/locks";

    [[nodiscard]] static counting_semaphore seats(client& on, std::int64_t total) {
        return {on, "seats", {.total = total}};
    }
};

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

// --- too many at once -------------------------------------------------------------------------------------

// Calls a function before a request with this text passes, once.
class before_request final : public wire::tap {
  public:
    before_request(std::string text, std::function<void()>& then) : text_(std::move(text)), then_(then) {}

    void from_client(std::string_view bytes) override {
        if (then_ && bytes.find(text_) != std::string_view::npos) std::exchange(then_, nullptr)();
    }
    bool from_server(std::string_view bytes, std::string& pass) override {
        pass += bytes;
        return true;
    }

  private:
    const std::string text_;
    std::function<void()>& then_;
};

class zookeeper_semaphore_races : public zookeeper_semaphores {
  protected:
    void SetUp() override {
        zookeeper_semaphores::SetUp();
        if (IsSkipped()) return;
        to_server = std::make_unique<wire>(servers->port(), wire::memory::none, [this] {
            return std::make_unique<before_request>("-lease-", meanwhile);
        });
        slow = std::make_unique<client>(
            settings_for("zk://127.0.0.1:" + std::to_string(to_server->port()) + "?tick=200ms", 30s));
        // The directories.
        (void)seats(*slow, 1).acquire();
    }

    std::function<void()> meanwhile;
    std::unique_ptr<wire> to_server;
    std::unique_ptr<client> slow;
};

TEST_F(zookeeper_semaphore_races, with_a_curator_that_takes_the_last_permit_are_lost) {
    zookeeper_client curator{servers->port()};
    meanwhile = [&] { create_in(curator, permits, curators("lease-")); };
    EXPECT_FALSE(seats(*slow, 1).try_acquire()) << "two holders of one permit";
    EXPECT_FALSE(meanwhile);
    EXPECT_EQ(curator.children(permits).size(), 1U) << "nothing of ours is left";
}

TEST_F(zookeeper_semaphore_races, with_another_client_that_takes_the_last_permit_are_lost) {
    const auto c = new_client();
    lease other;
    meanwhile = [&] { other = seats(*c, 1).try_acquire(); };
    EXPECT_FALSE(seats(*slow, 1).try_acquire());
    EXPECT_TRUE(other.valid());
}

// The number of permits that was drained is exact.
TEST_F(zookeeper_semaphore_races, of_a_drain_with_a_client_that_takes_a_permit_count_it) {
    const auto c = new_client();
    seats(*slow, 1).add_permits(2);
    std::int64_t drained = 0;
    meanwhile = [&] { drained = seats(*c, 1).drain_permits(); };
    EXPECT_FALSE(seats(*slow, 1).try_acquire());
    EXPECT_EQ(drained, 3);
    EXPECT_EQ(seats(*c, 1).available_permits(), 0);
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

// --- nodes that others delete, and sessions that end -------------------------------------------------------

TEST_F(zookeeper_semaphores, are_lost_whole_when_somebody_deletes_one_of_their_nodes) {
    const auto c = new_client(30s);
    event_recorder events{*c};
    auto mine = seats(*c, 3);
    const auto held = mine.acquire({.permits = 3});
    zookeeper_client other{servers->port()};
    other.ask(zk::remove(std::string{permits} + '/' + other.children(permits).at(1)));
    EXPECT_TRUE(events.next(event_kind::lost));
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(eventually(patience, [&] { return other.children(permits).empty(); }))
        << "the others are released";
    EXPECT_EQ(mine.available_permits(), 3);
}

TEST_F(zookeeper_semaphores, of_a_stopped_client_are_free_after_its_session_and_invalid_when_it_goes_on) {
    auto holder = child_process::fork_call([url = servers->url()](const parent_link& parent) {
        client c{settings_for(url, 2s)};
        const auto held = counting_semaphore(c, "seats", {.total = 2}).acquire({.permits = 2});
        parent.report("held");
        (void)parent.await_line();
        return held.valid() ? 1 : 0;
    });
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    holder.pause();
    const auto c = new_client();
    const auto mine = seats(*c, 2).try_acquire_for(patience);
    EXPECT_TRUE(mine.valid());
    holder.resume();
    holder.write("\n");
    EXPECT_EQ(holder.wait(patience), 0) << "it took its lease for valid";
}

// The first of the line keeps others out while its session lasts, and no longer.
TEST_F(zookeeper_semaphores, of_a_line_whose_first_waiter_is_stopped_are_served_after_its_session) {
    const auto c = new_client(30s);
    auto held = seats(*c, 1).acquire();
    auto waiter = child_process::fork_call([url = servers->url()](const parent_link& parent) {
        client waiting{settings_for(url, 2s)};
        parent.report("waits");
        (void)counting_semaphore(waiting, "seats", {.total = 1}).acquire();
        return 0;
    });
    ASSERT_TRUE(waiter.wait_for_output("waits", patience)) << waiter.errors();
    zookeeper_client other{servers->port()};
    ASSERT_TRUE(eventually(patience, [&] { return other.children(line).size() == 1; }));
    waiter.pause();
    held.release();
    EXPECT_TRUE(seats(*c, 1).try_acquire()) << "one that does not wait needs no place in the line";
    EXPECT_TRUE(seats(*c, 1).try_acquire_for(patience));
    waiter.kill();
}

TEST_F(zookeeper_cut_followers, do_not_keep_permits_valid) {
    client at_follower{settings_for(url_of(follower), 4s)};
    const auto held = counting_semaphore(at_follower, "seats", {.total = 2}).acquire({.permits = 2});
    servers->cut_between(leader, follower);
    client at_leader{settings_for(url_of(leader), 4s)};
    const auto next = counting_semaphore(at_leader, "seats").try_acquire_for(patience);
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(next);
}

TEST_F(zookeeper_ensembles, keep_permits_when_the_leader_is_killed) {
    const auto c = new_client(30s);
    counting_semaphore mine{*c, "seats", {.total = 2}};
    auto held = mine.acquire({.permits = 2});
    servers->stop(servers->leader());
    const auto other = new_client();
    std::error_code why;
    EXPECT_TRUE(eventually(patience, [&] {
        EXPECT_FALSE(counting_semaphore(*other, "seats").try_acquire(why));
        return !why;
    })) << "a new leader serves";
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(counting_semaphore(*other, "seats").try_acquire_for(patience, {.permits = 2}));
}

// --- lost answers -----------------------------------------------------------------------------------------

class zookeeper_semaphore_answers : public zookeeper_answers {
  protected:
    [[nodiscard]] counting_semaphore seats() const { return {*through, "seats", {.total = 5}}; }
    [[nodiscard]] std::size_t taken() const { return nodes("seats/leases"); }
};

TEST_F(zookeeper_semaphore_answers, of_taking_permits_that_are_lost_take_them_once) {
    lose(zk::op::multi, 1, "-lease-");
    auto held = seats().acquire({.permits = 3});
    EXPECT_EQ(losses.lost(), 1U);
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(taken(), 3U);
    EXPECT_EQ(seats().available_permits(), 2);
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(taken(), 0U);
}

TEST_F(zookeeper_semaphore_answers, of_taking_permits_in_the_line_that_are_lost_take_them_once) {
    const auto other = new_client(30s);
    auto held = counting_semaphore(*other, "seats", {.total = 5}).acquire({.permits = 5});
    auto waiter = in_background([&] { return seats().acquire({.permits = 2}); });
    ASSERT_TRUE(eventually(patience, [&] { return nodes("seats/locks") == 1; }));
    lose(zk::op::multi, 1, "-lease-");
    held.release();
    auto mine = waiter.get();
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(losses.lost(), 1U);
    EXPECT_EQ(taken(), 2U);
    EXPECT_EQ(nodes("seats/locks"), 0U);
}

TEST_F(zookeeper_semaphore_answers, of_the_place_in_the_line_that_are_lost_keep_it) {
    const auto other = new_client(30s);
    auto held = counting_semaphore(*other, "seats", {.total = 5}).acquire({.permits = 5});
    lose(zk::op::create, 1, "-lock-");
    auto waiter = in_background([&] { return seats().acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return losses.lost() == 1 && nodes("seats/locks") == 1; }));
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_EQ(nodes("seats/locks"), 0U);
}

TEST_F(zookeeper_semaphore_answers, of_an_attempt_that_are_lost_leave_nothing_behind) {
    (void)seats().acquire();
    lose(zk::op::multi, 1, "-lease-");
    {
        const auto held = seats().try_acquire({.permits = 4});
        EXPECT_EQ(losses.lost(), 1U);
    }
    EXPECT_TRUE(eventually(patience, [&] { return taken() == 0; }));
    EXPECT_EQ(nodes("seats/locks"), 0U);
}

TEST_F(zookeeper_semaphore_answers, of_a_release_that_are_lost_are_no_loss) {
    auto held = seats().acquire({.permits = 3});
    lose(zk::op::remove, 1, "-lease-");
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(losses.lost(), 1U);
    EXPECT_EQ(taken(), 0U);
}

TEST_F(zookeeper_semaphore_answers, of_changes_of_the_number_that_are_lost_count_once) {
    EXPECT_EQ(seats().add_permits(2), 2);
    lose(zk::op::multi, 1, "/count");
    EXPECT_EQ(seats().add_permits(3), 5);
    EXPECT_EQ(losses.lost(), 1U);
    lose(zk::op::multi, 1, "/count");
    EXPECT_EQ(seats().drain_permits(), 5);
    EXPECT_EQ(losses.lost(), 2U);
    EXPECT_EQ(seats().available_permits(), 0);
    counting_semaphore tables{*through, "tables"};
    lose(zk::op::create, 1, "tables/count");
    EXPECT_TRUE(tables.try_set_permits(3));
    EXPECT_EQ(losses.lost(), 3U);
    lose(zk::op::multi, 1, "-lease-");
    tables.take(2);
    EXPECT_EQ(tables.available_permits(), 1);
    lose(zk::op::multi, 1, "tables/count");
    tables.give(2);
    EXPECT_EQ(tables.available_permits(), 3);
}

TEST_F(zookeeper_semaphore_answers, of_a_permit_that_another_client_releases_are_no_loss) {
    permit_semaphore mine{*through, "seats", {.total = 5}};
    const auto held = mine.acquire({.permits = 2});
    lose(zk::op::multi, 1, "-lease-");
    EXPECT_TRUE(mine.release(held.owner().str()));
    EXPECT_EQ(losses.lost(), 1U);
    EXPECT_EQ(mine.available_permits(), 5);
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
    const auto c = new_client();
    auto mine = seats(*c, 5'000);
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
    event_recorder events{*c};
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
