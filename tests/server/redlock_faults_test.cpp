// A lock on five independent servers of which some are dead, slow, cut off or restarted.
#include "server/redlock_scene.hpp"

#include <fstream>

namespace holdfast::test {
namespace {

class redlock_faults : public five_servers {
  protected:
    // As five_servers::url, over faulty networks.
    [[nodiscard]] std::string net_url(const std::string& options, const std::string& of_each = {}) const {
        std::string all = "redlock:" + options;
        for (std::size_t i = 0; i < n; ++i) all += (i > 0 ? "," : "") + nets[i].url() + of_each;
        return all;
    }
    // Waits until all members are connected and may vote.
    void ready(client& c) {
        mutex warm{c, "warm"};
        ASSERT_TRUE(eventually(patience, [&] {
            std::error_code ec;
            const auto held = warm.try_acquire(ec);
            return held && eventually(500ms, [&] { return members_with("warm") == n; });
        }));
        ASSERT_TRUE(eventually(patience, [&] { return members_with("warm") == 0; }));
    }

    std::array<fault_proxy, n> nets{fault_proxy{servers[0]}, fault_proxy{servers[1]}, fault_proxy{servers[2]},
                                    fault_proxy{servers[3]}, fault_proxy{servers[4]}};
};

constexpr milliseconds node_timeout = 300ms * slower;
const std::string strict = "restarts=trusted,node_timeout=" + std::to_string(node_timeout.count()) + "ms,";

TEST_F(redlock_faults, lock_is_acquired_at_once_with_one_or_two_members_dead) {
    client c{settings(net_url(strict))};
    mutex m{c, "job"};
    ready(c);
    for (const std::size_t dead : {1U, 3U}) {
        servers[dead].stop();
        stopwatch since;
        auto held = m.acquire();
        EXPECT_TRUE(held.valid());
        EXPECT_EQ(held.release(), release_outcome::released);
        EXPECT_LT(since.took(), node_timeout + slack);
    }
}

TEST_F(redlock_faults, lock_is_acquired_at_once_with_two_members_silent) {
    client c{settings(net_url(strict))};
    mutex m{c, "job"};
    ready(c);
    nets[0].stall();
    nets[4].stall();
    stopwatch since;
    auto held = m.acquire();
    EXPECT_TRUE(held.valid());
    EXPECT_LT(since.took(), node_timeout + slack);
    EXPECT_EQ(held.release(), release_outcome::released);
    nets[0].resume();
    nets[4].resume();
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
}

TEST_F(redlock_faults, new_client_acquires_although_it_never_reached_two_members) {
    servers[0].stop();
    nets[4].stall();
    client c{settings(net_url(strict))};
    EXPECT_TRUE(mutex(c, "job").acquire().release());
}

TEST_F(redlock_faults, try_soon_fails_with_three_members_dead_and_leaves_nothing) {
    client c{settings(net_url(strict))};
    mutex m{c, "job"};
    ready(c);
    for (const auto i : {0U, 1U, 2U}) servers[i].stop();
    for (int i = 0; i < 3; ++i) {
        stopwatch since;
        try {
            (void)m.try_acquire();
            ADD_FAILURE() << "acquired";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::unavailable) << e.what();
            const std::string why = e.what();
            EXPECT_TRUE(std::any_of(nets.begin(), nets.begin() + 3, [&](const auto& net) {
                return why.find(std::to_string(net.port())) != std::string::npos;
            })) << why;
        }
        EXPECT_LT(since.took(), 2 * node_timeout + slack);
    }
    for (const auto i : {3U, 4U})
        EXPECT_TRUE(eventually(patience, [&] { return servers[i].command({"EXISTS", "job"}).number == 0; }));
}

TEST_F(redlock_faults, waiter_waits_until_a_majority_answers_again) {
    client c{settings(net_url(strict))};
    mutex m{c, "job"};
    ready(c);
    for (const auto i : {0U, 1U, 2U}) servers[i].pause();
    auto waiter = in_background([&] { return m.try_acquire_for(patience); });
    EXPECT_FALSE(test::ready(waiter, 10 * node_timeout));
    for (const auto i : {0U, 1U, 2U}) servers[i].resume();
    EXPECT_TRUE(waiter.get().valid());
}

// The members carry out the commands; their replies come long after the client has given up.
TEST_F(redlock_faults, client_undoes_grants_of_members_that_did_not_answer) {
    // No connection is closed for silence: that would reveal, too late, that there is something to undo.
    client c{settings(net_url("restarts=trusted,node_timeout=100ms,", "?command_timeout=1m"))};
    mutex m{c, "job"};
    ready(c);
    for (const auto i : {0U, 1U, 2U}) nets[i].hold_reply_of(named("SET"));
    const auto code = code_of([&] { (void)m.acquire(); });
    EXPECT_EQ(code, errc::unavailable) << code.message();
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }))
        << "without a reply of those three";
    for (const auto i : {0U, 1U, 2U}) nets[i].release_replies();
    EXPECT_TRUE(m.try_acquire_for(patience));
}

// What a destroyed client leaves behind on a member that answers late. The delete is a script that this
// member does not know. It says so after its late answer: a client that does not wait never sends it whole.
class redlock_with_a_late_member : public redlock_faults {
  protected:
    void begin_with(milliseconds close_timeout) {
        auto how = settings(net_url(strict));
        how.close_timeout = close_timeout;
        user = std::make_unique<client>(how);
        ready(*user);
        servers[late].command({"SCRIPT", "FLUSH"});
        nets[late].hold_reply_of(named("SET"));
    }
    void destroy_before_the_late_member_answers() {
        ASSERT_TRUE(eventually(patience, [&] { return nets[late].count().replies_held == 1; }));
        auto gone = in_background([&] { user.reset(); });
        (void)test::ready(gone, 300ms);  // a client that does not wait is done by now
        nets[late].release_replies();
        gone.get();
    }

    static constexpr std::size_t late = 4;
    std::unique_ptr<client> user;
};

TEST_F(redlock_with_a_late_member, released_lock_is_deleted_there_too) {
    begin_with(1min);  // the longest there is
    {
        auto held = mutex(*user, "job").acquire();
        EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == n; }));
        EXPECT_EQ(held.release(), release_outcome::released);
    }
    destroy_before_the_late_member_answers();
    EXPECT_EQ(members_with("job"), 0U);
}

TEST_F(redlock_with_a_late_member, refused_lock_is_deleted_there_too) {
    begin_with(1min);  // the longest there is
    block({0, 1, 2}, "job");
    EXPECT_FALSE(mutex(*user, "job").try_acquire());
    destroy_before_the_late_member_answers();
    EXPECT_EQ(members_with("job"), 3U);
}

// This stands for a member that never answers.
TEST_F(redlock_with_a_late_member, does_not_block_the_client_destructor_for_ever) {
    begin_with(100ms);
    {
        auto held = mutex(*user, "job").acquire();
        EXPECT_TRUE(held.release());
    }
    stopwatch since;
    user.reset();
    EXPECT_LT(since.took(), 100ms + slack);
}

TEST_F(redlock_faults, lock_is_not_granted_if_the_majority_answers_after_the_lease) {
    client c{settings(net_url("restarts=trusted,node_timeout=10s,"))};
    mutex m{c, "job"};
    ready(c);
    for (const auto i : {0U, 1U, 2U}) nets[i].hold_reply_of(named("SET"));
    std::error_code ec;
    auto late = in_background([&] { return m.try_acquire({.ttl = 150ms}, ec).valid(); });
    ASSERT_TRUE(eventually(patience, [&] { return nets[2].count().replies_held == 1; }));
    // The lease expires meanwhile.
    client d{settings(net_url(relaxed))};
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
    for (const auto i : {0U, 1U, 2U}) nets[i].release_replies();
    EXPECT_FALSE(late.get());
    EXPECT_EQ(ec, errc::lease_too_short) << ec.message();
}

TEST_F(redlock_faults, waiter_asks_again_if_the_majority_answers_too_late) {
    client c{settings(net_url("restarts=trusted,node_timeout=10s,"))};
    mutex m{c, "job"};
    ready(c);
    for (const auto i : {0U, 1U, 2U}) nets[i].hold_reply_of(named("SET"));
    auto waiter = in_background([&] { return m.try_acquire_for(patience, {.ttl = 300ms * slower}); });
    ASSERT_TRUE(eventually(patience, [&] { return nets[2].count().replies_held == 1; }));
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
    for (const auto i : {0U, 1U, 2U}) nets[i].release_replies();
    EXPECT_TRUE(waiter.get());
}

TEST_F(redlock_faults, lease_is_renewed_with_two_members_dead_and_lost_with_three) {
    const auto tolerant_lease = 4s * slower;
    client c{settings(net_url(strict), tolerant_lease)};
    mutex m{c, "job"};
    ready(c);
    auto held = m.acquire();
    servers[0].stop();
    servers[1].stop();
    const auto renewals = c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals >= renewals + 3; }));
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.state(), lease_state::held);
    std::atomic<bool> notified{false};
    const std::stop_callback on_lost(held.lost_token(), [&] { notified = true; });
    servers[2].stop();
    EXPECT_TRUE(eventually(patience, [&] { return notified.load(); }));
    EXPECT_FALSE(held.valid());
}

TEST_F(redlock_faults, lease_survives_members_that_come_and_go) {
    client c{settings(net_url(strict), 4s * slower)};
    mutex m{c, "job"};
    ready(c);
    auto held = m.acquire();
    for (int i = 0; i < 4; ++i) {
        for (const auto j : {1U, 2U}) nets[j].cut_all();
        const auto renewals = c.stats().renewals;
        EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals > renewals; }));
    }
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
}

// The schedule of the lab's rung 8a: a member that has lost its lock would create a second majority.
class redlock_restart : public redlock_faults {
  protected:
    static constexpr milliseconds longest = 2s * slower;

    // Whether the second client acquires the lock while the first still holds it by its own clock.
    bool second_majority_is_granted(const std::string& restarts) {
        const auto all = net_url("restarts=" + restarts +
                                 ",node_timeout=1s,longest_lease=" + std::to_string(longest.count()) + "ms,");
        client a{settings(all, longest)};
        client b{settings(all, longest)};
        ready(a);
        ready(b);
        EXPECT_TRUE(eventually(patience, [&] {
            return std::all_of(servers.begin(), servers.end(), [](auto& s) {
                return s.command({"INFO", "server"}).text.find("uptime_in_seconds:0") == std::string::npos;
            });
        }));
        mutex of_a{a, "job"};
        mutex of_b{b, "job"};
        block({3, 4}, "job");
        auto held = of_a.acquire({.renew = false});
        EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 5; }));
        servers[2].restart(redis_server::data::lose);
        unblock({3, 4}, "job");
        bool second = false;
        while (held.valid()) {
            std::error_code ec;
            const auto got = of_b.try_acquire(ec);
            second = second || (got && held.valid());
        }
        return second;
    }
};

TEST_F(redlock_restart, member_without_data_does_not_count_until_the_longest_lease_is_over) {
    EXPECT_FALSE(second_majority_is_granted("quarantined"));
}

TEST_F(redlock_restart, trusted_member_creates_a_second_majority) {
    EXPECT_TRUE(second_majority_is_granted("trusted")) << "otherwise the test above shows nothing";
}

TEST_F(redlock_restart, error_says_when_newly_met_members_count_again) {
    client c{settings(net_url("node_timeout=50ms,"))};
    try {
        (void)mutex(c, "job").try_acquire();
        FAIL() << "acquired";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::quarantined);
        EXPECT_NE(std::string{e.what()}.find("counts again in"), std::string::npos) << e.what();
    }
    EXPECT_EQ(members_with("job"), 0U);
}

// Members 3 and 4 were restarted, and the others are old enough to vote.
class redlock_with_two_quarantined : public redlock_faults {
  protected:
    void SetUp() override {
        ASSERT_TRUE(eventually(longest + patience, [&] {
            return std::all_of(servers.begin(), servers.begin() + 3, [](auto& s) {
                const auto info = s.command({"INFO", "server"}).text;
                const auto at = info.find("uptime_in_seconds:");
                return at != std::string::npos && std::stol(info.substr(at + 18)) * 1s > longest + 2s;
            });
        }));
        for (const auto i : {3U, 4U}) servers[i].restart(redis_server::data::lose);
    }
    [[nodiscard]] std::string quarantining_url() const {
        return url("node_timeout=" + std::to_string(node_timeout.count()) +
                   "ms,longest_lease=" + std::to_string(longest.count()) + "ms,");
    }
    [[nodiscard]] bool names(const std::string& text, std::initializer_list<std::size_t> which) const {
        return std::all_of(which.begin(), which.end(), [&](auto i) {
            return text.find(":" + std::to_string(servers[i].port())) != std::string::npos;
        });
    }

    static constexpr milliseconds longest = 4s * slower;
};

TEST_F(redlock_with_two_quarantined, quorum_is_weak_and_lost_with_one_more_member) {
    client c{settings(quarantining_url(), longest)};
    const event_recorder events{c};
    ASSERT_TRUE(events.has(event_kind::quorum_weak));
    const auto weak = events.last(event_kind::quorum_weak).detail;
    EXPECT_TRUE(names(weak, {3, 4})) << weak;
    EXPECT_FALSE(names(weak, {0})) << weak;
    EXPECT_NE(weak.find("was started so recently"), std::string::npos) << weak;
    EXPECT_EQ(events.count(event_kind::quorum_whole), 0U);
    servers[0].stop();
    ASSERT_TRUE(events.has(event_kind::store_down));
    const auto down = events.last(event_kind::store_down).detail;
    EXPECT_TRUE(names(down, {0, 3, 4})) << down;
    const auto ups = events.count(event_kind::store_up);
    EXPECT_TRUE(eventually(longest + patience, [&] { return events.count(event_kind::store_up) > ups; }))
        << "nothing but time has passed";
    EXPECT_EQ(events.count(event_kind::quorum_whole), 0U);
    EXPECT_TRUE(mutex(c, "job").try_acquire());
}

TEST_F(redlock_with_two_quarantined, error_names_hanging_and_quarantined_members_and_a_waiter_waits) {
    client c{settings(quarantining_url(), longest)};
    ASSERT_TRUE(mutex(c, "warm").try_acquire_for(patience).release());
    servers[0].pause();
    const stopwatch watch;
    try {
        (void)mutex(c, "job").try_acquire();
        FAIL() << "acquired";
    } catch (const error& e) {
        const std::string why = e.what();
        EXPECT_EQ(e.code(), errc::quarantined) << why;
        EXPECT_TRUE(names(why, {0, 3, 4})) << why;
        EXPECT_FALSE(names(why, {1})) << why;
        EXPECT_NE(why.find("was started so recently"), std::string::npos) << why;
        EXPECT_NE(why.find("no answer from "), std::string::npos) << why;
    }
    EXPECT_LT(watch.took(), longest / 2) << "otherwise this shows nothing";
    EXPECT_TRUE(mutex(c, "job").try_acquire_for(longest + patience)) << "the quarantine has ended";
    servers[0].resume();
}

#if defined(HOLDFAST_CLOCK_SHIM) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// The lab's rung 8b. A member whose clock is set ahead forgets its lock early, and no client can see it:
// there are two holders, and the resource tells them apart by their fences.
TEST(redlock_with_a_wrong_clock, has_two_holders_with_growing_fences) {
    const temp_dir folder;
    const auto offset = folder.path() / "ahead";
    const auto set_ahead = [&](std::int64_t us) {
        std::ofstream{offset, std::ios::binary}.write(reinterpret_cast<const char*>(&us), sizeof us);
    };
    set_ahead(0);
    redis_server::options odd;
    odd.environment = {{"LD_PRELOAD", HOLDFAST_CLOCK_SHIM}, {"HOLDFAST_CLOCK_AHEAD", offset.string()}};
    std::array<redis_server, 4> right;
    redis_server wrong{odd};
    auto url = "redlock:" + relaxed + wrong.url();
    for (const auto& s : right) url += "," + s.url();
    client a{url};
    client b{url};
    mutex of_a{a, "job", {.fenced = true}};
    mutex of_b{b, "job", {.fenced = true}};
    for (const auto i : {2U, 3U}) right[i].command({"SET", "job", "foreign", "PX", "60000"});
    auto first = of_a.acquire();
    set_ahead(61'000'000);
    ASSERT_TRUE(eventually(patience, [&] { return wrong.command({"EXISTS", "job"}).number == 0; }));
    lease second;
    ASSERT_TRUE(eventually(patience, [&] {
        // Repeated, since three of five were enough for A: its requests to these two may have come late.
        for (const auto i : {2U, 3U}) right[i].command({"DEL", "job"});
        second = of_b.try_acquire();
        return second.valid();
    }));
    EXPECT_TRUE(first.valid()) << "nothing notifies the first holder";
    EXPECT_GT(to_number(second.fence()), to_number(first.fence()));
}

#endif

}  // namespace
}  // namespace holdfast::test
