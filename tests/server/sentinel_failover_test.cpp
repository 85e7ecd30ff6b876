// Failovers while locks are held and waited for. Each test leaves a master with two replicas behind.
#include "server/scene.hpp"
#include "support/loopback.hpp"
#include "support/sentinel_scene.hpp"

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

// Far longer than a failover, so that a lease that ends was lost and has not merely run out.
constexpr milliseconds long_lease = 20s;

// A lock that one client holds and another waits for.
class contended_lock {
  public:
    virtual ~contended_lock() = default;
    std::string name;
    lease held;
    std::future<lease> next;
};

template <class Kind>
class contended_lock_of final : public contended_lock {
  public:
    contended_lock_of(redis_server& master, const std::string& n, client& holder, client& waiter)
        : mine_(Kind::make(holder, n)), others_(Kind::make(waiter, n)) {
        name = n;
        held = mine_.acquire();
        next = waiter_for(others_);
        EXPECT_TRUE(waits<Kind>(master, n));
    }
    // The waiter uses a lock of this object.
    ~contended_lock_of() override {
        (void)held.release();
        if (next.valid()) (void)next.get();
    }

  private:
    decltype(Kind::make(std::declval<client&>(), "")) mine_;
    decltype(Kind::make(std::declval<client&>(), "")) others_;
};

class failover : public testing::Test {
  protected:
    static void SetUpTestSuite() { shared_ = std::make_unique<sentinel_scene>(); }
    static void TearDownTestSuite() { shared_.reset(); }

    failover() { former = scene.master_index(); }
    void TearDown() override {
        contended.clear();
        scene.heal();
    }

    // For the waiter only messages are quick: a poll would come after ten seconds.
    static config lazy(const std::string& url) {
        auto c = settings(url);
        c.poll_gap = 30s;
        return c;
    }

    void contend_for_all_kinds() {
        const auto add = [this]<class Kind>(const std::string& name, Kind) {
            contended.push_back(
                std::make_unique<contended_lock_of<Kind>>(scene.master(), name, holder, waiter));
        };
        add("plain", plain{});
        add("fenced", fenced{});
        add("recursive", recursive{});
        add("fair", fair{});
        add("shared", writing{});
        // Keys that the replicas lack are lost with the master.
        scene.replicate();
    }

    // Every lease goes on, and is renewed at the new master.
    void expect_all_held_and_renewed() {
        for (const auto& one : contended) {
            EXPECT_TRUE(one->held.valid()) << one->name;
            EXPECT_TRUE(exists(scene.master(), one->name)) << one->name;
            EXPECT_TRUE(eventually(patience, [&] { return one->held.remaining() > long_lease - 3s; }))
                << one->name;
            EXPECT_GT(pttl(scene.master(), one->name), long_lease - 5s) << one->name;
            EXPECT_FALSE(ready(one->next)) << one->name;
        }
        EXPECT_EQ(holders_events.count(event_kind::lost), 0U);
    }

    void expect_all_served_after_release() {
        for (const auto& one : contended) {
            const auto before = one->held.fence();
            const stopwatch since;
            EXPECT_EQ(one->held.release(), release_outcome::released) << one->name;
            auto got = one->next.get();
            EXPECT_TRUE(got.valid()) << one->name;
            EXPECT_LT(since.took(), 5s + taken_by_the_machine()) << one->name << " got no message";
            if (one->name == "fenced") {
                EXPECT_GT(got.fence(), before);
            }
            EXPECT_EQ(got.release(), release_outcome::released) << one->name;
        }
    }

    // The waiter listens at the new master, as it did at the former one.
    void expect_waiter_listens() {
        // It takes ten seconds to miss a subscription to a master that hangs.
        EXPECT_TRUE(eventually(3s * slower, [&] {
            return scene.master().command({"PUBSUB", "NUMSUB", channel_of("recursive")}).items.at(1).number ==
                   1;
        }));
        EXPECT_TRUE(waits<plain>(scene.master(), "plain"));
    }

    static bool has_clients_of_ours(redis_server& server) {
        return server.command({"CLIENT", "LIST"}).text.find("name=holdfast:") != std::string::npos;
    }

    // The zombie still takes itself for a master, and would accept our commands.
    void expect_no_client_talks_to(redis_server& zombie) {
        const auto takes_itself_for_a_master = [&] {
            return zombie.command({"INFO", "replication"}).text.find("role:master") != std::string::npos;
        };
        ASSERT_TRUE(takes_itself_for_a_master());
        // Commands that were under way when it went have arrived by now, or never will.
        ASSERT_TRUE(eventually(patience, [&] { return !has_clients_of_ours(zombie); }));
        zombie.command({"CONFIG", "RESETSTAT"});
        zombie.command({"SET", "probe", "granted by the zombie"});
        client newcomer{scene.url()};
        for (client* c : {&holder, &waiter, &newcomer}) {
            mutex probe{*c, "probe", {.fenced = true}};
            auto got = probe.try_acquire();
            EXPECT_TRUE(got.valid());
            EXPECT_TRUE(exists(scene.master(), "probe"));
            EXPECT_EQ(got.release(), release_outcome::released);
        }
        EXPECT_FALSE(has_clients_of_ours(zombie));
        const auto ran = zombie.command({"INFO", "commandstats"}).text;
        EXPECT_EQ(ran.find("cmdstat_eval"), std::string::npos) << ran;
        EXPECT_EQ(zombie.command({"GET", "probe"}).text, "granted by the zombie");
        EXPECT_TRUE(takes_itself_for_a_master()) << "the test was too slow to show anything";
    }

    sentinel_scene& scene = *shared_;
    std::size_t former;
    client holder{settings(scene.url(), long_lease)};
    client waiter{lazy(scene.url())};
    const event_recorder holders_events{holder};
    const event_recorder waiters_events{waiter};
    std::vector<std::unique_ptr<contended_lock>> contended;

  private:
    static inline std::unique_ptr<sentinel_scene> shared_;
};

TEST_F(failover, ordered_by_an_operator_costs_no_lease) {
    contend_for_all_kinds();
    scene.fail_over();
    // By a message: the former master lives, and would serve us for some more seconds.
    const stopwatch since;
    ASSERT_TRUE(holders_events.has(event_kind::failed_over));
    ASSERT_TRUE(waiters_events.has(event_kind::failed_over));
    EXPECT_LT(since.took(), slack);
    EXPECT_EQ(
        holders_events.last(event_kind::failed_over).detail,
        "the master moved from " + scene.address(former) + " to " + scene.address(scene.master_index()));
    EXPECT_EQ(holders_events.count(event_kind::store_restarted), 0U) << "another server is no restart";
    expect_all_held_and_renewed();
    expect_waiter_listens();
    expect_all_served_after_release();
}

// --- the master leaves, and returns as a zombie ---------------------------------------------------------

struct way_to_fail {
    const char* name;
    void (*take_down)(sentinel_scene&, std::size_t);

    friend void PrintTo(const way_to_fail& way, std::ostream* out) { *out << way.name; }
};
class failover_of_a_lost_master : public failover, public testing::WithParamInterface<way_to_fail> {};

TEST_P(failover_of_a_lost_master, costs_no_lease_and_no_client_trusts_the_returned_master) {
    contend_for_all_kinds();
    // A lock whose holder is dead.
    scene.master().command({"SET", "orphan", "AAAAAAAAAAAAAAAAAAAAAA|1", "PX", "3000"});
    const stopwatch since_orphaned;
    mutex orphan{waiter, "orphan"};
    auto successor = in_background([&] {
        auto got = orphan.try_acquire_for(patience);
        return std::pair{got.valid(), since_orphaned.took()};
    });
    ASSERT_TRUE(waits<plain>(scene.master(), "orphan"));
    scene.replicate();

    GetParam().take_down(scene, former);
    scene.await_failover();
    const stopwatch since_failover;
    const auto healed = since_orphaned.took();
    ASSERT_TRUE(holders_events.has(event_kind::failed_over));
    ASSERT_TRUE(waiters_events.has(event_kind::failed_over));
    EXPECT_LT(since_failover.took(), 1s + slack);
    expect_all_held_and_renewed();
    expect_waiter_listens();

    scene.bring_back(former);
    expect_no_client_talks_to(scene.server(former));
    const auto [served, when] = successor.get();
    EXPECT_TRUE(served);
    EXPECT_LT(when, std::max<milliseconds>(3s, healed) + 1s + slack)
        << "the rest of the lease and a poll gap";
    expect_all_served_after_release();
}

INSTANTIATE_TEST_SUITE_P(
    ways, failover_of_a_lost_master,
    testing::Values(way_to_fail{"killed", [](sentinel_scene& s, std::size_t i) { s.server(i).stop(); }},
                    way_to_fail{"stopped", [](sentinel_scene& s, std::size_t i) { s.server(i).pause(); }},
                    way_to_fail{"cut_off",
                                [](sentinel_scene& s, std::size_t i) { s.wire_to(i).stall(true); }}),
    [](const auto& of) { return std::string{of.param.name}; });

// --- what is lost -----------------------------------------------------------------------------------------

TEST_F(failover, loses_unreplicated_locks_and_notifies_their_holder) {
    mutex kept{holder, "kept"};
    mutex gone{holder, "gone"};
    const auto safe = kept.acquire();
    scene.replicate();
    scene.cut_replicas();
    const auto unreplicated = gone.acquire();
    EXPECT_TRUE(unreplicated.valid());
    scene.master().stop();
    scene.await_failover();
    const stopwatch since;
    EXPECT_TRUE(eventually(patience, [&] { return unreplicated.lost_token().stop_requested(); }));
    EXPECT_LT(since.took(), 1s + slack) << "at once, and not at the end of the lease";
    EXPECT_FALSE(unreplicated.valid());
    EXPECT_TRUE(safe.valid());
    EXPECT_TRUE(holders_events.has(event_kind::lost));
    EXPECT_EQ(holders_events.count(event_kind::lost), 1U);
    EXPECT_TRUE(mutex(waiter, "gone").try_acquire().valid());
}

// --- what the sentinels say, and what the client receives ------------------------------------------------

TEST_F(failover, is_noticed_without_a_message_and_not_believed_from_a_minority) {
    std::vector<std::unique_ptr<fault_proxy>> nets;
    for (std::size_t i = 0; i < sentinel_scene::sentinels; ++i) {
        nets.push_back(std::make_unique<fault_proxy>(scene.sentinel(i)));
        nets.back()->swallow_messages(true);
    }
    auto c =
        settings(sentinel_scene::url_of({nets[0]->port(), nets[1]->port(), nets[2]->port()}), long_lease);
    client deaf{c};
    const event_recorder events{deaf};
    mutex lock{deaf, "job"};
    auto held = lock.acquire();
    scene.replicate();
    scene.fail_over();
    EXPECT_TRUE(held.valid());
    // The client receives only READONLY, unless that took so long that it has asked by itself.
    scene.follow_master(former);
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(events.has(event_kind::failed_over));
    EXPECT_FALSE(exists(scene.master(), "job"));

    // A sentinel that missed the failover, or lies: it names another master, and knows of no failover.
    redis_server elsewhere;
    redis_server::options o;
    o.sentinel = true;
    o.users = {std::string{sentinel_scene::sentinel_user} + " on >" + sentinel_scene::sentinel_password +
               " &* +@all"};
    o.config = {std::string{"sentinel monitor "} + sentinel_scene::name + " 127.0.0.1 " +
                std::to_string(elsewhere.port()) + " 1"};
    redis_server liar{o};
    const auto ports = scene.sentinel_ports();
    client misled{sentinel_scene::url_of({liar.port(), ports[0], ports[1]})};
    EXPECT_TRUE(mutex(misled, "job").try_acquire().valid());
    EXPECT_FALSE(has_clients_of_ours(elsewhere));
    // With one honest sentinel two of three answer, and the later failover still counts.
    const auto silent_one = bound_socket(0);
    client doubtful{sentinel_scene::url_of({liar.port(), ports[0], port_of(silent_one)})};
    EXPECT_TRUE(mutex(doubtful, "job").try_acquire().valid());
    EXPECT_FALSE(has_clients_of_ours(elsewhere));
}

}  // namespace
}  // namespace holdfast::test
