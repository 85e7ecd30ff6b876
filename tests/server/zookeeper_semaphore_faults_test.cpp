// Semaphores in ZooKeeper, when something happens meanwhile: to nodes, sessions, servers and answers.
#include "server/zookeeper_semaphores.hpp"
#include "support/background.hpp"
#include "support/child_process.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::test {
namespace {

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

#if !defined(__SANITIZE_THREAD__)  // it supports no new threads after fork
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
#endif

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

}  // namespace
}  // namespace holdfast::test
