// What `examine` finds on stores of several servers: about each server, and about all together.
#include "server/cluster_world.hpp"
#include "server/doctor_scene.hpp"
#include "support/loopback.hpp"
#include "support/sentinel_scene.hpp"

#include <sys/socket.h>

#include <stop_token>
#include <thread>

namespace holdfast::test {
namespace {

// --- Sentinel ---------------------------------------------------------------------------------------

class doctor_of_sentinels : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { shared_ = std::make_unique<sentinel_scene>(); }
    static void TearDownTestSuite() { shared_.reset(); }
    void TearDown() override {
        for (std::size_t i = 0; i < sentinel_scene::sentinels; ++i) scene.sentinel(i).resume();
        scene.heal();
    }
    // Waits until a change to a server shows.
    [[nodiscard]] testing::AssertionResult says_soon(std::string_view id, severity wanted) {
        examination last;
        if (eventually(patience,
                       [&] { return worst_of(last = examined(scene.url_of_examiner()), id) == wanted; }))
            return testing::AssertionSuccess();
        return testing::AssertionFailure() << id << " is never " << to_string(wanted) << "\n" << all_of(last);
    }

    sentinel_scene& scene = *shared_;

  private:
    static inline std::unique_ptr<sentinel_scene> shared_;
};

TEST_F(doctor_of_sentinels, examines_the_master_the_replicas_and_the_sentinels) {
    const auto all = examined(scene.url_of_examiner(), {.name = lock_name{"job"}, .kind = {}});
    EXPECT_EQ(with_role(all, "master"), 1U) << all_of(all);
    EXPECT_EQ(with_role(all, "slave"), 2U) << all_of(all);
    EXPECT_EQ(with_role(all, "sentinel"), 3U) << all_of(all);
    for (const auto* id : {"role", "sentinel-reach", "sentinel-agreement", "sentinel-list", "sentinel-quorum",
                           "sentinel-master", "sentinel-replicas", "clocks-apart", "versions-differ",
                           "rights", "replica-lag", "own-clock"})
        EXPECT_EQ(worst_of(all, id), severity::ok) << id << "\n" << all_of(all);
    EXPECT_EQ(found(all, "clock-offset").size(), 3U) << "of the master and of each replica";
    EXPECT_EQ(found(all, "sentinel-quorum").size(), 1U) << "all report the same";
    EXPECT_EQ(worst_of(all, "same-server"), std::nullopt);
    for (const auto* const secret : {sentinel_scene::password, sentinel_scene::examiner_password})
        EXPECT_EQ(all_of(all).find(secret), std::string::npos);
}

TEST_F(doctor_of_sentinels, settings_that_may_not_be_read_are_unknown) {
    const auto all = examined(scene.url());
    EXPECT_EQ(worst_of(all, "sentinel-quorum"), severity::unknown) << all_of(all);
    EXPECT_EQ(worst_of(all, "sentinel-replicas"), severity::unknown);
    EXPECT_EQ(worst_of(all, "sentinel-agreement"), severity::ok);
    EXPECT_EQ(with_role(all, "slave"), 2U) << "the master knows its replicas too";
}

// The rights of a user are not replicated.
TEST_F(doctor_of_sentinels, finds_a_right_that_is_missing_only_on_a_replica) {
    const auto replica = (scene.master_index() + 1) % sentinel_scene::servers;
    ASSERT_EQ(scene.server(replica).command({"ACL", "SETUSER", sentinel_scene::user, "-zpopmin"}).text, "OK");
    const auto all = examined(scene.url_of_examiner());
    EXPECT_TRUE(mentions(all, "missing-command", scene.address(replica))) << all_of(all);
    EXPECT_EQ(worst_of(all, "missing-command"), severity::warning);
    ASSERT_EQ(scene.server(replica).command({"ACL", "SETUSER", sentinel_scene::user, "+zpopmin"}).text, "OK");
}

// What counts is the replica after its promotion: clients then write a note there.
TEST_F(doctor_of_sentinels, finds_a_replica_on_which_clients_could_write_no_note) {
    const auto replica = (scene.master_index() + 1) % sentinel_scene::servers;
    auto& server = scene.server(replica);
    const auto look = [&](const std::string& options) { return missing(examined(scene.url(options))); };
    EXPECT_TRUE(look("failover=grace").empty());
    ASSERT_EQ(server.command({"ACL", "SETUSER", sentinel_scene::user, "resetkeys", "~job*", "-info"}).text,
              "OK");
    const auto some = look("failover=grace");
    EXPECT_TRUE(look("failover=best_effort").empty());
    ASSERT_EQ(server.command({"ACL", "SETUSER", sentinel_scene::user, "allkeys", "+info"}).text, "OK");
    ASSERT_EQ(some.size(), 2U);
    for (const auto& f : some) {
        EXPECT_EQ(f.how_bad, severity::warning) << f.found;
        EXPECT_EQ(f.subject, scene.address(replica)) << f.found;
        EXPECT_NE(f.mending.find("+info ~holdfast:promoted"), std::string::npos) << f.mending;
    }
}

TEST_F(doctor_of_sentinels, counts_the_sentinels_that_answer) {
    scene.sentinel(2).pause();
    const auto one_less = examined(scene.url_of_examiner());
    EXPECT_EQ(worst_of(one_less, "sentinel-reach"), severity::warning) << all_of(one_less);
    EXPECT_TRUE(
        mentions(one_less, "sentinel-reach", "127.0.0.1:" + std::to_string(scene.sentinel(2).port()) + " ("));
    EXPECT_EQ(with_role(one_less, "sentinel"), 2U);

    // The connection to the master stands, but no sentinels can agree on the master.
    client c{settings(scene.url_of_examiner())};
    (void)examine(c);
    scene.sentinel(1).pause();
    const auto alone = examine(c);
    EXPECT_EQ(worst_of(alone, "sentinel-reach"), severity::danger) << all_of(alone);
    EXPECT_EQ(worst_of(alone, "sentinel-agreement"), severity::danger);
    EXPECT_EQ(with_role(alone, "master"), 1U);

    scene.sentinel(0).pause();
    EXPECT_EQ(code_of([&] { (void)examined(scene.url_of_examiner()); }), errc::unavailable);
}

TEST_F(doctor_of_sentinels, finds_a_sentinel_that_disagrees) {
    const auto replica = (scene.master_index() + 1) % sentinel_scene::servers;
    auto& odd = scene.sentinel(1);
    const auto monitor = [&](std::size_t server) {
        odd.command({"SENTINEL", "REMOVE", sentinel_scene::name});
        const auto port = std::to_string(scene.wire_to(server).port());
        ASSERT_EQ(odd.command({"SENTINEL", "MONITOR", sentinel_scene::name, "127.0.0.1", port, "2"}).text,
                  "OK");
    };
    odd.command({"SENTINEL", "REMOVE", sentinel_scene::name});
    const auto forgotten = examined(scene.url_of_examiner());
    EXPECT_EQ(worst_of(forgotten, "sentinel-master"), severity::danger) << all_of(forgotten);
    EXPECT_TRUE(mentions(forgotten, "sentinel-master", "watches no master of the name"));
    // It talks to a replica without a password, so it does not learn that this is no master.
    monitor(replica);
    EXPECT_TRUE(says_soon("sentinel-agreement", severity::warning));
    monitor(scene.master_index());
    odd.command({"SENTINEL", "SET", sentinel_scene::name, "auth-pass", "operators-word"});
}

TEST_F(doctor_of_sentinels, finds_missing_replicas_and_that_none_can_take_over) {
    std::vector<std::size_t> replicas;
    for (std::size_t i = 0; i < sentinel_scene::servers; ++i)
        if (i != scene.master_index()) replicas.push_back(i);
    scene.server(replicas[0]).stop();
    ASSERT_TRUE(says_soon("unreachable", severity::warning));
    const auto one_less = examined(scene.url_of_examiner());
    EXPECT_TRUE(mentions(one_less, "unreachable", scene.address(replicas[0]))) << all_of(one_less);
    EXPECT_LE(worst_of(one_less, "sentinel-replicas"), severity::ok);
    scene.server(replicas[1]).stop();
    EXPECT_TRUE(says_soon("sentinel-replicas", severity::warning));
}

// --- cluster ----------------------------------------------------------------------------------------

class doctor_of_a_cluster : public cluster_world {};

TEST_F(doctor_of_a_cluster, examines_every_node) {
    const auto all = examined(scene().url(), {.name = lock_name{"job"}, .kind = {}});
    EXPECT_EQ(with_role(all, "master"), 3U) << all_of(all);
    EXPECT_EQ(with_role(all, "slave"), 3U) << all_of(all);
    for (const auto* id : {"role", "cluster-state", "cluster-nodes", "cluster-replicas", "cluster-views",
                           "clocks-apart", "versions-differ", "rights"})
        EXPECT_EQ(worst_of(all, id), severity::ok) << id << "\n" << all_of(all);
    EXPECT_EQ(found(all, "cluster-state").size(), 1U) << "all report the same";
    EXPECT_EQ(found(all, "clock-offset").size(), 6U);
    EXPECT_EQ(worst_of(all, "cluster-client"), std::nullopt);
    EXPECT_EQ(worst_of(examined(scene().server(0).url()), "cluster-client"), severity::warning);
}

// Each server has its own rights.
TEST_F(doctor_of_a_cluster, finds_a_right_that_is_missing_on_one_server) {
    const auto odd = scene().masters().front();
    for (std::size_t i = 0; i < scene().size(); ++i) {
        ASSERT_EQ(scene()
                      .server(i)
                      .command(split("ACL SETUSER guest reset on >word ~* &* +@all" +
                                     std::string{i == odd ? " -zpopmin" : ""}))
                      .text,
                  "OK");
    }
    const auto all = examined(scene().url("guest:word@"), {.name = lock_name{"job"}, .kind = {}});
    const auto some = missing(all);
    ASSERT_EQ(some.size(), 1U) << all_of(all);
    EXPECT_EQ(some[0].subject, "127.0.0.1:" + std::to_string(scene().server(odd).port()));
    EXPECT_EQ(some[0].mending, "ACL SETUSER guest +zpopmin");
    for (std::size_t i = 0; i < scene().size(); ++i) scene().server(i).command({"ACL", "DELUSER", "guest"});
}

TEST_F(doctor_of_a_cluster, reports_a_name_that_a_lock_cannot_have) {
    for (const std::string name : {"a{b", "{tag}x"}) {
        for (const auto of : {kind::fair, kind::native}) {
            const bool refused = name == "a{b" && of == kind::fair;
            const auto all = examined(scene().url(), {.name = lock_name{name}, .kind = of});
            EXPECT_EQ(worst_of(all, "cluster-name"), refused ? std::optional{severity::danger} : std::nullopt)
                << name << "\n"
                << all_of(all);
        }
    }
}

TEST_F(doctor_of_a_cluster, finds_a_missing_server_and_unserved_slots) {
    const auto masters = scene().masters();
    std::size_t replica = 0;
    while (std::find(masters.begin(), masters.end(), replica) != masters.end()) ++replica;
    scene().kill(replica);
    const auto less = examined(scene().url());
    EXPECT_EQ(worst_of(less, "unreachable"), severity::warning) << all_of(less);
    EXPECT_TRUE(mentions(less, "unreachable", "127.0.0.1:" + std::to_string(scene().server(replica).port())));
    EXPECT_EQ(less.servers.size(), 5U);
    EXPECT_TRUE(eventually(patience, [&] {
        const auto all = examined(scene().url());
        return worst_of(all, "cluster-nodes") == severity::warning &&
               worst_of(all, "cluster-replicas") == severity::warning;
    }));
    scene().bring_back(replica);
    scene().wait_until_well();

    // One master forgets a slot, and reports the cluster as down. The owner announces it again and again.
    {
        std::jthread forgets{[&odd = scene().server(masters[0])](const std::stop_token& enough) {
            while (!enough.stop_requested()) odd.command({"CLUSTER", "DELSLOTS", "16383"});
        }};
        examination torn;
        EXPECT_TRUE(eventually(patience, [&] {
            torn = examined(scene().url());
            return worst_of(torn, "cluster-state") == severity::danger &&
                   worst_of(torn, "cluster-views") == severity::warning;
        })) << all_of(torn);
    }
    scene().wait_until_well();
}

// Seeds that are silent, refuse connections, or know of no slots.
TEST_F(doctor_of_a_cluster, each_seed_is_named_with_its_failure) {
    const auto silent = [] {
        auto s = bound_socket(0);
        EXPECT_EQ(::listen(s.get(), 8), 0);
        return s;
    }();
    const auto refusing = bound_socket(0);
    const auto address = [](const unique_fd& s) { return "127.0.0.1:" + std::to_string(port_of(s)); };
    redis_server not_made{{.config = {"cluster-enabled yes"}}};
    client c{settings("redis+cluster://" + address(silent) + "," + address(refusing) +
                      ",127.0.0.1:" + std::to_string(not_made.port()))};
    const auto error_of = [&](auto&& act) -> std::string {
        try {
            act();
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::unavailable);
            return e.what() + (" " + e.server_text());
        }
        return "no error";
    };
    mutex lock{c, "x"};
    for (const auto& text : {error_of([&] { (void)lock.try_lock(); }), error_of([&] { (void)examine(c); })}) {
        EXPECT_NE(text.find("no answer from " + address(silent)), std::string::npos) << text;
        EXPECT_NE(text.find("connection refused by " + address(refusing)), std::string::npos) << text;
        EXPECT_NE(text.find(std::to_string(not_made.port()) + " knows of no slots"), std::string::npos)
            << text;
    }
}

TEST_F(doctor_of_a_cluster, silent_seeds_delay_no_client) {
    std::vector<unique_fd> silent;
    std::string url = "redis+cluster://";
    for (int i = 0; i < 6; ++i) {
        silent.push_back(bound_socket(0));
        ASSERT_EQ(::listen(silent.back().get(), 8), 0);
        url += "127.0.0.1:" + std::to_string(port_of(silent.back())) + ",";
    }
    client c{settings(url + "127.0.0.1:" + std::to_string(scene().server(0).port()))};
    mutex lock{c, "soon"};
    const stopwatch since;
    EXPECT_TRUE(lock.try_lock());
    EXPECT_LT(since.took(), 600ms + slack);  // one after another it would be three seconds
    lock.unlock();
}

}  // namespace
}  // namespace holdfast::test
