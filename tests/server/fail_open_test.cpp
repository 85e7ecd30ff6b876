// Locks whose policy fails open (policy.hpp), with a real server that is killed, stopped and started again.
#include "server/scene.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

class fail_open : public ::testing::TestWithParam<on_outage> {
  protected:
    [[nodiscard]] config with_policy(policy how, milliseconds lease = 30s) const {
        auto c = settings(server.url(), lease);
        c.answer_timeout = 1500ms * slower;  // longer than a busy machine stalls
        how.name = "open";
        how.outage = GetParam();
        if (GetParam() == on_outage::fail_open_host) how.substitute = "file:" + directory.path().string();
        c.policies = {std::move(how)};
        return c;
    }
    [[nodiscard]] config open(milliseconds lease = 30s) const {
        return with_policy({.name = {}, .match = "*", .pause = 5ms}, lease);
    }
    [[nodiscard]] strength without_store() const {
        return GetParam() == on_outage::fail_open_host ? strength::host_local : strength::process_local;
    }
    [[nodiscard]] std::optional<lease> taken_by_another_machine(const std::string& name) {
        std::error_code ec;
        auto got = mutex(other_machine, name).try_acquire(ec);
        if (!got) return std::nullopt;
        return got;
    }

    const temp_dir directory;
    redis_server server;
    client other_machine{settings(server.url())};  // it has no policy, and so no substitute
};

std::string name_of(const ::testing::TestParamInfo<on_outage>& one) {
    return one.param == on_outage::fail_open_host ? "host" : "process";
}
INSTANTIATE_TEST_SUITE_P(, fail_open,
                         ::testing::Values(on_outage::fail_open_process, on_outage::fail_open_host), name_of);

TEST_P(fail_open, is_the_lock_of_the_store_while_that_is_there) {
    client c{open()};
    mutex stock{c, "stock"};
    auto held = stock.acquire();
    EXPECT_EQ(held.strength(), strength::single);
    EXPECT_FALSE(taken_by_another_machine("stock"));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(taken_by_another_machine("stock"));
}

// The chain of the article goes on to its local lock when the wait is over, and so lets two holders in.
TEST_P(fail_open, never_takes_busy_for_an_outage) {
    client c{open()};
    event_recorder events{c};
    mutex stock{c, "stock"};
    const auto theirs = mutex(other_machine, "stock").acquire();
    EXPECT_FALSE(stock.try_acquire());
    EXPECT_FALSE(stock.try_acquire_for(300ms));
    std::vector<std::future<bool>> all;
    for (int i = 0; i < 4; ++i)
        all.push_back(in_background([&] { return bool{mutex(c, "stock").try_acquire_for(200ms)}; }));
    for (auto& one : all) EXPECT_FALSE(one.get());
    EXPECT_EQ(events.count(event_kind::degraded), 0U);
}

TEST_P(fail_open, waits_for_the_holder_in_the_store) {
    client c{open()};
    auto theirs = mutex(other_machine, "stock").acquire();
    auto ours = in_background([&] { return mutex(c, "stock").acquire(); });
    EXPECT_TRUE(eventually(patience, [&] { return queued(server, "stock") == 1; }));
    theirs.release();
    const auto held = ours.get();
    EXPECT_EQ(held.strength(), strength::single);
    EXPECT_TRUE(held.valid());
}

TEST_P(fail_open, grants_without_a_store_that_is_gone) {
    client c{open()};
    event_recorder events{c};
    server.stop();
    mutex stock{c, "stock"};
    auto held = stock.acquire();
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.strength(), without_store());
    EXPECT_TRUE(events.has(event_kind::degraded));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(stock.try_acquire()) << "it is free again";
}

TEST_P(fail_open, excludes_others_of_the_machine_while_the_store_is_gone) {
    client c{open()};
    client d{open()};
    server.stop();
    auto held = mutex(c, "stock").acquire();
    EXPECT_FALSE(mutex(d, "stock").try_acquire());
    EXPECT_TRUE(mutex(d, "other").try_acquire());
    auto next = in_background([&] { return mutex(d, "stock").acquire(); });
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(next.get().strength(), without_store());
}

// One client sees the store and the other does not: what the substitute is for.
TEST_P(fail_open, excludes_a_holder_in_the_store_from_others_of_the_machine) {
    fault_proxy cut_off{server};
    client c{open()};
    auto through_proxy = open();
    through_proxy.url = cut_off.url();
    auto held = mutex(c, "stock").acquire();
    EXPECT_EQ(held.strength(), strength::single);
    if (GetParam() == on_outage::fail_open_host) {  // within a process, the server's name tells them apart
        client d{through_proxy};
        cut_off.refuse_new(true);
        cut_off.cut_all();
        EXPECT_FALSE(mutex(d, "stock").try_acquire());
    }
}

TEST_P(fail_open, renews_its_lease_without_the_store) {
    client c{open(600ms * slower)};
    client d{open(600ms * slower)};
    server.stop();
    const auto held = mutex(c, "stock").acquire();
    const stopwatch since;
    EXPECT_TRUE(eventually(patience, [&] { return since.took() > 1500ms * slower || !held.valid(); }));
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(mutex(d, "stock").try_acquire());
}

TEST_P(fail_open, frees_the_lock_when_the_ttl_is_over) {
    client c{open()};
    client d{open()};
    server.stop();
    const auto held = mutex(c, "stock").acquire({.ttl = 700ms * slower});
    EXPECT_TRUE(mutex(d, "stock").try_acquire_for(patience));
    EXPECT_FALSE(held.valid());
}

// The server grants the lock for ten minutes, and its answer is lost.
class fail_open_unanswered : public fail_open {
  protected:
    [[nodiscard]] config through_proxy() const {
        auto how = open(10min);
        how.url = link.url();
        return how;
    }
    // A lease without the store, whose first attempt was granted there.
    [[nodiscard]] lease acquired(client& c) {
        EXPECT_TRUE(mutex(c, "other").acquire().release());  // it is connected
        link.refuse_new(true);
        link.drop_reply_of(plain::look());
        auto held = mutex(c, "stock").acquire();
        EXPECT_EQ(held.strength(), without_store());
        EXPECT_EQ(server.command({"EXISTS", "stock"}).number, 1);
        return held;
    }

    fault_proxy link{server};
};

INSTANTIATE_TEST_SUITE_P(, fail_open_unanswered,
                         ::testing::Values(on_outage::fail_open_process, on_outage::fail_open_host), name_of);

TEST_P(fail_open_unanswered, undoes_what_its_request_was_granted) {
    client c{through_proxy()};
    auto held = acquired(c);
    EXPECT_EQ(held.release(), release_outcome::released);
    link.refuse_new(false);
    EXPECT_TRUE(eventually(patience, [&] { return taken_by_another_machine("stock").has_value(); }));
}

TEST_P(fail_open_unanswered, does_not_take_its_own_request_for_another_holder) {
    client c{through_proxy()};
    event_recorder events{c};
    const auto held = acquired(c);
    // The planned undoing has been tried by then, in vain, and is tried again after a minute.
    const stopwatch since;
    EXPECT_TRUE(eventually(patience, [&] { return since.took() > 2s + answer_timeout; }));
    link.refuse_new(false);
    EXPECT_TRUE(events.has(event_kind::restored));
    EXPECT_EQ(events.count(event_kind::overlap), 0U);
    EXPECT_LT(since.took(), 30s * slower);
}

TEST_P(fail_open_unanswered, gets_the_lock_from_its_own_request_of_before) {
    client c{through_proxy()};
    EXPECT_EQ(acquired(c).release(), release_outcome::released);
    const stopwatch since;
    EXPECT_TRUE(eventually(patience, [&] { return since.took() > 2s + answer_timeout; }));
    link.refuse_new(false);
    EXPECT_TRUE(
        eventually(patience, [&] { return mutex(c, "stock").acquire().strength() == strength::single; }));
    EXPECT_LT(since.took(), 40s * slower);
}

TEST_P(fail_open, has_the_lock_in_the_store_again_when_that_is_back) {
    client c{open()};
    event_recorder events{c};
    server.stop();
    auto held = mutex(c, "stock").acquire();
    server.start();
    EXPECT_TRUE(events.has(event_kind::restored));
    EXPECT_EQ(held.strength(), without_store()) << "what was granted stays";
    EXPECT_FALSE(taken_by_another_machine("stock"));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(eventually(patience, [&] { return taken_by_another_machine("stock").has_value(); }));
    EXPECT_EQ(events.count(event_kind::overlap), 0U);
}

TEST_P(fail_open, keeps_the_restored_lock_while_the_lease_is_renewed) {
    client c{open(900ms * slower)};
    event_recorder events{c};
    server.stop();
    const auto held = mutex(c, "stock").acquire();
    server.start();
    EXPECT_TRUE(events.has(event_kind::restored));
    const stopwatch since;
    EXPECT_TRUE(eventually(patience, [&] {
        return since.took() > 2500ms * slower || !held.valid() || taken_by_another_machine("stock");
    }));
    EXPECT_GT(since.took(), 2500ms * slower);
}

TEST_P(fail_open, reports_another_holder_when_the_store_is_back) {
    client c{open()};
    event_recorder events{c};
    server.stop();
    auto held = mutex(c, "stock").acquire();
    server.start();
    // Before the client asks for it: a restart loses nothing here, as nothing was in it.
    const auto theirs = mutex(other_machine, "stock").try_acquire();
    if (theirs) {
        EXPECT_TRUE(events.has(event_kind::overlap));
        EXPECT_TRUE(held.valid());
    } else {
        EXPECT_TRUE(events.has(event_kind::restored));
    }
    EXPECT_EQ(held.release(), release_outcome::released);
}

TEST_P(fail_open, ends_the_lease_of_two_holders_if_the_policy_says_so) {
    fault_proxy link{server};
    auto how = with_policy({.name = {}, .match = "*", .pause = 5ms, .lost_on_overlap = true});
    how.url = link.url();
    client c{how};
    event_recorder events{c};
    link.refuse_new(true);
    link.cut_all();
    const auto held = mutex(c, "stock").acquire();
    const auto lost = held.lost_token();
    const auto theirs = mutex(other_machine, "stock").acquire();
    EXPECT_TRUE(held.valid());
    link.refuse_new(false);
    EXPECT_TRUE(events.has(event_kind::overlap));
    EXPECT_TRUE(eventually(patience, [&] { return lost.stop_requested(); }));
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(theirs.valid());
}

TEST_P(fail_open, refuses_a_grant_that_is_weaker_than_asked_for) {
    client c{open()};
    mutex stock{c, "stock"};
    EXPECT_EQ(stock.acquire({.at_least = strength::single}).strength(), strength::single);
    EXPECT_EQ(code_of([&] { (void)stock.acquire({.at_least = strength::quorum}); }), errc::too_weak);
    server.stop();
    EXPECT_EQ(code_of([&] { (void)stock.try_acquire({.at_least = strength::single}); }), errc::too_weak);
    EXPECT_EQ(stock.try_acquire({.at_least = without_store()}).strength(), without_store());
}

TEST_P(fail_open, refuses_a_weak_member_of_several_locks) {
    client c{open()};
    mutex one{c, "one"};
    mutex two{c, "two"};
    multi_lock both{one, two};
    server.stop();
    EXPECT_EQ(code_of([&] { (void)both.try_acquire({.at_least = strength::single}); }), errc::too_weak);
    EXPECT_EQ(both.acquire().strength(), without_store());
}

TEST_P(fail_open, degrades_a_single_try_on_a_server_that_is_stopped) {
    client c{open()};
    EXPECT_TRUE(mutex(c, "other").acquire().release());
    server.pause();
    const auto held = mutex(c, "stock").try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(held.strength(), without_store());
    server.resume();
}

TEST_P(fail_open, does_not_take_a_short_wait_for_an_outage) {
    auto how = with_policy({.name = {}, .match = "*"});  // the usual pauses
    client c{how};
    event_recorder events{c};
    const auto theirs = mutex(other_machine, "stock").acquire();
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(mutex(c, "stock").try_acquire_for(20ms));
    EXPECT_EQ(events.count(event_kind::degraded), 0U);
}

TEST_P(fail_open, does_not_hand_a_weak_lease_to_a_thread_that_wants_a_strong_one) {
    client c{open()};
    server.stop();
    auto held = mutex(c, "stock").acquire();
    auto strong = in_background(
        [&] { return code_of([&] { (void)mutex(c, "stock").acquire({.at_least = strength::single}); }); });
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(strong.get(), errc::too_weak);
}

TEST_P(fail_open, keeps_its_other_errors) {
    server.command({"ACL", "SETUSER", "guest", "on", ">secret", "~free:*", "&*", "+@all"});
    server.command({"LPUSH", "list", "x"});
    auto how = open();
    client c{how};
    EXPECT_EQ(code_of([&] { (void)mutex(c, "list").try_acquire(); }), errc::wrong_kind);
    how.url = "redis://guest:secret@127.0.0.1:" + std::to_string(server.port());
    client guest{how};
    EXPECT_EQ(code_of([&] { (void)mutex(guest, "stock").try_acquire(); }), errc::no_permission);
    EXPECT_TRUE(mutex(guest, "free:stock").try_acquire());
    EXPECT_TRUE(mutex(c, "stock").try_acquire()) << "a refused attempt keeps nothing of the machine";
}

TEST_P(fail_open, is_refused_for_locks_that_cannot_have_a_substitute) {
    client c{open()};
    const auto refused = [](auto&& make) {
        return code_of([&] { (void)make().try_acquire(); }) == errc::invalid_argument;
    };
    EXPECT_TRUE(refused([&] { return fair_mutex(c, "a"); }));
    EXPECT_TRUE(refused([&] { return fenced_mutex(c, "b"); }));
    EXPECT_TRUE(refused([&] { return mutex(c, "c", {.fenced = true}); }));
    EXPECT_TRUE(refused([&] { return counting_semaphore(c, "d", {.total = 1}); }));
    EXPECT_TRUE(refused([&] { return permit_semaphore(c, "e", {.total = 1}); }));
    EXPECT_TRUE(recursive_mutex(c, "f").try_acquire());
}

TEST_P(fail_open, works_for_recursive_and_shared_locks) {
    client c{open()};
    client d{open()};
    server.stop();
    recursive_mutex nested{c, "nested"};
    nested.lock();
    nested.lock();
    EXPECT_FALSE(recursive_mutex(d, "nested").try_acquire());
    nested.unlock();
    EXPECT_FALSE(recursive_mutex(d, "nested").try_acquire());
    nested.unlock();
    EXPECT_TRUE(recursive_mutex(d, "nested").try_acquire());

    shared_mutex ours{c, "catalog"};
    shared_mutex theirs{d, "catalog"};
    auto read = ours.acquire_shared();
    EXPECT_TRUE(theirs.try_acquire_shared());
    EXPECT_FALSE(theirs.try_acquire());
    read.release();
    EXPECT_TRUE(theirs.try_acquire());
}

TEST_P(fail_open, asks_no_store_that_has_failed_three_times) {
    client c{open()};
    server.pause();
    (void)mutex(c, "stock").acquire();
    const auto before = c.stats().commands_sent;
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(mutex(c, "stock " + std::to_string(i)).acquire().release());
    EXPECT_LT(c.stats().commands_sent - before, 10U);
    server.resume();
}

// Threads of several clients of one machine, while the server is killed, stopped and started again: no two
// of them hold the lock at a time, whatever each of them sees of the server.
TEST_P(fail_open, lets_one_holder_of_the_machine_in_through_outages) {
    constexpr int clients = 3;
    std::atomic<bool> stop{false};
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0}, turns{0}, weak{0};
    std::vector<std::future<void>> all;
    for (int i = 0; i < clients; ++i) {
        all.push_back(in_background([&] {
            client c{open(2s * slower)};
            mutex stock{c, "stock"};
            while (!stop) {
                std::error_code ec;
                auto held = stock.try_acquire_for(100ms, ec);
                if (!held) continue;
                if (inside.fetch_add(1) != 0 && held.valid()) ++overlaps;
                if (held.strength() != strength::single) ++weak;
                std::this_thread::yield();
                inside.fetch_sub(1);
                held.release();
                ++turns;
            }
        }));
    }
    const auto some_turns = [&] {
        const int before = turns;
        EXPECT_TRUE(eventually(patience, [&] { return turns > before + 50 || overlaps > 0; }));
    };
    for (int round = 0; round < 3 && overlaps == 0; ++round) {
        some_turns();
        server.stop();
        some_turns();
        server.start();
        some_turns();
        server.pause();
        some_turns();
        server.resume();
    }
    stop = true;
    for (auto& one : all) one.get();
    EXPECT_EQ(overlaps, 0);
    EXPECT_GT(weak, 0);
    EXPECT_LT(weak, turns);
}

// --- a configuration centre -------------------------------------------------------------------------

class switched_off : public fail_open {
  protected:
    void write(const std::string& text) const {
        const auto beside = file + ".new";
        std::ofstream{beside} << text;
        std::filesystem::permissions(beside, std::filesystem::perms{0644});
        std::filesystem::rename(beside, file);
    }
    [[nodiscard]] config with_switch() const {
        auto how = open();
        how.switch_source = "file:" + file;
        return how;
    }

    const std::string file = (directory.path() / "switch").string();
};
INSTANTIATE_TEST_SUITE_P(, switched_off,
                         ::testing::Values(on_outage::fail_open_process, on_outage::fail_open_host), name_of);

TEST_P(switched_off, does_without_the_store_while_the_centre_says_so) {
    write(R"({"holdfast": 1, "serial": 1, "by": "li", "reason": "redis upgrade",
              "groups": {"default": {"mode": "fallback"}}})");
    client c{with_switch()};
    event_recorder events{c};
    mutex stock{c, "stock"};
    auto held = stock.acquire();
    EXPECT_EQ(held.strength(), without_store());
    EXPECT_FALSE(server.command({"EXISTS", "stock"}).number);
    EXPECT_TRUE(events.has(event_kind::switched)) << "also to those that listen later";
    EXPECT_NE(events.last(event_kind::switched).detail.find("li: redis upgrade"), std::string::npos);

    write(R"({"holdfast": 1, "serial": 2, "groups": {"default": {"mode": "redis"}}})");
    EXPECT_TRUE(events.has(event_kind::restored)) << "the holder gets it in the store, too";
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(eventually(patience, [&] { return stock.acquire().strength() == strength::single; }));
}

TEST_P(switched_off, goes_on_with_the_last_good_word) {
    write("distributed.lock.use-redis=false");
    client c{with_switch()};
    event_recorder events{c};
    write("distributed.lock.use-redis=perhaps");
    ASSERT_TRUE(events.has(event_kind::bad_document));
    EXPECT_NE(events.last(event_kind::bad_document).detail.find("use-redis"), std::string::npos);
    EXPECT_EQ(mutex(c, "stock").acquire().strength(), without_store());
    std::filesystem::remove(file);
    EXPECT_TRUE(events.has(event_kind::source_down));
    EXPECT_EQ(mutex(c, "stock").acquire().strength(), without_store());
    write("distributed.lock.use-redis=true");
    EXPECT_TRUE(events.has(event_kind::source_up));
    EXPECT_TRUE(
        eventually(patience, [&] { return mutex(c, "stock").acquire().strength() == strength::single; }));
}

TEST_P(switched_off, does_not_open_locks_that_fail_closed) {
    write("distributed.lock.use-redis=false");
    auto how = with_switch();
    how.policies.front().match = "stock:*";
    client c{how};
    EXPECT_EQ(mutex(c, "money").acquire().strength(), strength::single);
    EXPECT_EQ(mutex(c, "stock:1").acquire().strength(), without_store());
}

}  // namespace
}  // namespace holdfast::test
