// How the doctor judges several servers: a cluster, sentinels, and servers that are compared.
#include "backends/redis/doctor/cluster_nodes.hpp"
#include "backends/redis/doctor/sentinel_group.hpp"
#include "unit/backends/doctor_texts.hpp"

#include <holdfast/error.hpp>

namespace holdfast::redis_backend::doctor {
namespace {

// --- cluster ----------------------------------------------------------------------------------------

snapshot cluster_snapshot(const std::string& state, const std::string& nodes) {
    auto s = with("redis_mode", "cluster");
    s.cluster_info = answer(state);
    s.cluster_nodes = answer(nodes);
    return s;
}

constexpr auto cluster_well =
    "cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_ok:16384\r\ncluster_slots_pfail:0\r\n"
    "cluster_slots_fail:0\r\n";
constexpr auto two_masters =
    "a1 10.0.0.1:6379@16379,host1 myself,master - 0 1 1 connected 0-8191\n"
    "b1 10.0.0.2:6379@16379 master - 0 1 2 connected 8192-16383\n"
    "a2 10.0.0.3:6379@16379 slave a1 0 1 1 connected\n"
    "b2 10.0.0.4:6379@16379 slave b1 0 1 2 connected\n";

TEST(doctor_topology, judges_a_cluster) {
    const auto well = cluster_snapshot(cluster_well, two_masters);
    for (const auto* id : {"cluster-state", "cluster-nodes", "cluster-replicas"})
        EXPECT_EQ(severity_of(well, id), severity::ok) << id;
    EXPECT_EQ(severity_of(well, "cluster-client"), severity::warning);
    EXPECT_EQ(severity_of(well, "cluster-coverage"), severity::note);

    const auto nobody = cluster_snapshot("cluster_state:fail\r\ncluster_slots_assigned:0\r\n",
                                         "a1 :6379@16379 myself,master - 0 0 0 connected\n");
    EXPECT_EQ(severity_of(nobody, "cluster-state"), severity::danger);

    const auto doubted = cluster_snapshot(
        "cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_pfail:8192\r\ncluster_slots_fail:"
        "0\r\n",
        two_masters);
    EXPECT_EQ(severity_of(doubted, "cluster-state"), severity::warning);

    std::string nodes = two_masters;
    nodes.replace(nodes.find("slave b1"), 8, "slave,fail b1");
    const auto failing = cluster_snapshot(cluster_well, nodes);
    EXPECT_EQ(severity_of(failing, "cluster-nodes"), severity::warning);
    EXPECT_EQ(severity_of(failing, "cluster-replicas"), severity::warning);
    EXPECT_NE(finding_of(failing, "cluster-replicas").found.find("10.0.0.2:6379"), std::string::npos);

    auto silent = cluster_snapshot("", "");
    silent.cluster_info = refused();
    silent.cluster_nodes = refused();
    for (const auto* id : {"cluster-state", "cluster-nodes", "cluster-replicas"})
        EXPECT_EQ(severity_of(silent, id), severity::unknown) << id;
    EXPECT_EQ(severity_of(cluster_snapshot(cluster_well, "short line\n\n"), "cluster-nodes"), severity::ok);
}

TEST(doctor_topology, cluster_client_is_not_advised_to_use_redis_cluster) {
    auto s = cluster_snapshot(cluster_well, two_masters);
    s.as = part::master;
    EXPECT_EQ(severity_of(s, "cluster-client"), std::nullopt);
    EXPECT_EQ(severity_of(s, "cluster-state"), severity::ok);
}

TEST(doctor_topology, reads_lists_of_nodes) {
    const auto nodes = nodes_in(
        "a1 ::1:6379@16379,host1 myself,master - 0 1 1 connected 0-8191 9000 [93-<-b1]\n"
        "a2 10.0.0.3:6379@16379,,shard-id=x slave,fail? a1 0 1 1 connected\n"
        "me :0@0 handshake - 0 0 0 disconnected\nshort line\n\n@@@ - \n");
    ASSERT_EQ(nodes.size(), 3U);
    EXPECT_EQ(nodes[0].host, "::1");
    EXPECT_EQ(nodes[0].port, "6379");
    EXPECT_EQ(nodes[0].address(), "::1:6379");
    EXPECT_EQ(nodes[0].hostname, "host1");
    EXPECT_EQ(nodes[0].slots, "0-8191 9000 [93-<-b1]");
    EXPECT_TRUE(nodes[0].is("master"));
    EXPECT_FALSE(nodes[0].is("mast"));
    EXPECT_EQ(nodes[1].hostname, "");
    EXPECT_EQ(nodes[1].master, "a1");
    EXPECT_TRUE(nodes[1].fails());
    EXPECT_EQ(nodes[2].host, "");
}

TEST(doctor_topology, one_node_with_all_slots_needs_no_cluster_client) {
    const auto s =
        cluster_snapshot(cluster_well, "a1 10.0.0.1:6379@16379 myself,master - 0 1 1 connected 0-16383\n");
    EXPECT_EQ(severity_of(s, "cluster-client"), std::nullopt);
    EXPECT_EQ(severity_of(s, "cluster-replicas"), severity::warning);
}

// --- sentinel ---------------------------------------------------------------------------------------

redis::reply pairs(std::initializer_list<std::pair<const char*, std::string>> all) {
    std::vector<redis::reply> words;
    for (const auto& [name, value] : all) {
        words.push_back(text(name));
        words.push_back(text(value));
    }
    return redis::reply::of(std::move(words));
}

const auto agreed = "OK 3 usable Sentinels. Quorum and failover authorization can be reached";

snapshot sentinel_snapshot(const std::string& flags, const std::string& others, const std::string& quorum,
                           const server_answer& asked = answer(agreed), const std::string& replicas = "2",
                           const std::string& master_ip = "10.0.0.1") {
    auto s = healthy();
    s.as = part::sentinel;
    s.watched = "orders";
    s.info = answer("redis_version:7.0.15\r\nredis_mode:sentinel\r\n");
    s.watched_master = server_answer{redis::outcome{pairs({{"name", "orders"},
                                                           {"ip", master_ip},
                                                           {"port", "6379"},
                                                           {"flags", flags},
                                                           {"num-slaves", replicas},
                                                           {"num-other-sentinels", others},
                                                           {"quorum", quorum}})}};
    s.watched_replicas =
        answer(std::vector<redis::reply>{pairs({{"flags", "slave"}, {"slave-priority", "100"}})});
    s.quorum = asked;
    return s;
}

TEST(doctor_topology, judges_a_sentinel) {
    const auto well = sentinel_snapshot("master", "2", "2");
    for (const auto* id : {"sentinel-quorum", "sentinel-master", "sentinel-replicas"})
        EXPECT_EQ(severity_of(well, id), severity::ok) << id;
    for (const auto* id : {"role", "persistence", "clock-offset", "rights"})
        EXPECT_EQ(severity_of(well, id), std::nullopt) << id;

    EXPECT_EQ(severity_of(sentinel_snapshot("master", "0", "1"), "sentinel-quorum"), severity::warning);
    EXPECT_EQ(severity_of(sentinel_snapshot("master", "4", "2"), "sentinel-quorum"), severity::warning);
    EXPECT_EQ(severity_of(sentinel_snapshot("master", "2", "4"), "sentinel-quorum"), severity::danger);
    EXPECT_EQ(severity_of(sentinel_snapshot("master", "2", "2", refused("NOQUORUM 1 usable Sentinels.")),
                          "sentinel-quorum"),
              severity::danger);
    EXPECT_EQ(severity_of(sentinel_snapshot("master", "2", "2", refused()), "sentinel-quorum"),
              severity::unknown);
    EXPECT_EQ(severity_of(sentinel_snapshot("master", "x", "2"), "sentinel-quorum"), severity::unknown);
    EXPECT_EQ(severity_of(sentinel_snapshot("s_down,master", "2", "2"), "sentinel-master"), severity::danger);
    EXPECT_EQ(severity_of(sentinel_snapshot("master,failover_in_progress", "2", "2"), "sentinel-master"),
              severity::warning);
    EXPECT_EQ(severity_of(sentinel_snapshot("master", "2", "2", answer(agreed), "0"), "sentinel-replicas"),
              severity::warning);

    auto other = well;
    other.watched_replicas =
        answer(std::vector<redis::reply>{pairs({{"flags", "slave"}, {"slave-priority", "0"}}),
                                         pairs({{"flags", "s_down,slave"}, {"slave-priority", "100"}})});
    EXPECT_EQ(severity_of(other, "sentinel-replicas"), severity::warning) << "none of them may take over";
    other.watched_replicas = refused();
    EXPECT_EQ(severity_of(other, "sentinel-replicas"), severity::unknown);
    other.watched_master = refused("ERR No such master with that name");
    EXPECT_EQ(severity_of(other, "sentinel-master"), severity::danger);
    other.watched_master = refused();
    EXPECT_EQ(severity_of(other, "sentinel-master"), severity::unknown);
}

server_result at(const std::string& address, snapshot_result what) {
    return {address, part::sentinel, std::move(what)};
}
const backend::failure gone{make_error_code(errc::unavailable), "connection refused"};

severity sentinels_say(const sentinel_group& w, std::string_view id) {
    const auto all = judge(w);
    const auto f = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.id == id; });
    return f == all.end() ? severity::ok : f->how_bad;
}

TEST(doctor_topology, judges_the_sentinels_together) {
    const auto fine = sentinel_snapshot("master", "2", "2");
    const auto elsewhere = sentinel_snapshot("master", "2", "2", answer(agreed), "2", "10.0.0.9");
    const auto mute = [&] {
        auto s = fine;
        s.watched_master = refused();
        return s;
    }();
    const std::string here = "10.0.0.1:6379";
    const struct {
        sentinel_group what;
        std::string_view id;
        severity wanted;
    } table[] = {
        {{"orders", here, {at("a", fine), at("b", fine), at("c", fine)}}, "sentinel-reach", severity::ok},
        {{"orders", here, {at("a", fine), at("b", fine), at("c", gone)}},
         "sentinel-reach",
         severity::warning},
        {{"orders", here, {at("a", fine), at("b", gone), at("c", gone)}}, "sentinel-reach", severity::danger},
        {{"orders", "", {at("a", gone)}}, "sentinel-reach", severity::danger},
        {{"orders", here, {at("a", fine), at("b", fine), at("c", fine)}}, "sentinel-agreement", severity::ok},
        {{"orders", here, {at("a", fine), at("b", fine), at("c", elsewhere)}},
         "sentinel-agreement",
         severity::warning},
        {{"orders", here, {at("a", fine), at("b", elsewhere)}}, "sentinel-agreement", severity::danger},
        // Half of them is no majority.
        {{"orders", here, {at("a", fine), at("b", fine), at("c", gone), at("d", gone)}},
         "sentinel-agreement",
         severity::danger},
        {{"orders", "10.0.0.9:6379", {at("a", fine), at("b", fine), at("c", fine)}},
         "sentinel-agreement",
         severity::danger},
        {{"orders", here, {at("a", mute), at("b", gone)}}, "sentinel-agreement", severity::unknown},
        {{"orders", here, {at("a", fine), at("b", fine), at("c", fine)}}, "sentinel-list", severity::ok},
        {{"orders", here, {at("a", fine)}}, "sentinel-list", severity::warning},
        {{"orders", here, {at("a", fine), at("b", fine), at("c", fine), at("d", fine)}},
         "sentinel-list",
         severity::warning},
        {{"orders", here, {at("a", mute)}}, "sentinel-list", severity::unknown},
    };
    for (std::size_t row = 0; row < std::size(table); ++row)
        EXPECT_EQ(sentinels_say(table[row].what, table[row].id), table[row].wanted)
            << table[row].id << " in row " << row;
}

// --- replicas ---------------------------------------------------------------------------------------

TEST(doctor_topology, faults_of_a_replica_are_only_warnings) {
    auto s = with("role", "slave");
    s.as = part::replica;
    EXPECT_EQ(severity_of(s, "role"), severity::ok);
    EXPECT_EQ(severity_of(s, "pattern-subscribers"), std::nullopt);
    s.info = answer(
        "redis_version:6.0.1\r\nrole:slave\r\nmaster_link_status:down\r\nmaxmemory:1\r\n"
        "maxmemory_policy:allkeys-lru\r\n");
    for (const auto* id : {"version", "eviction-policy", "replica-lag"})
        EXPECT_EQ(severity_of(s, id), severity::warning) << id;
    auto promoted = healthy();
    promoted.as = part::replica;
    EXPECT_EQ(severity_of(promoted, "role"), severity::warning);
    promoted.as = part::master;
    EXPECT_EQ(severity_of(promoted, "role"), severity::ok);
}

// --- several servers --------------------------------------------------------------------------------

examined_server server(const std::string& address, const std::string& run, std::chrono::milliseconds offset) {
    return {address, "7.0.15", "master", run, offset, 1ms, 1ms};
}

severity together_says(std::vector<examined_server> servers, std::string_view id) {
    std::vector<examination> all;
    for (auto& s : servers) all.push_back({{std::move(s)}, {}});
    const auto one = together(std::move(all));
    for (const auto& f : one.findings)
        if (f.id == id) return f.how_bad;
    return severity::ok;
}

TEST(examinations, show_servers_listed_twice_and_clocks_that_disagree) {
    EXPECT_EQ(together_says({server("a", "1", 0ms), server("b", "2", 90ms)}, "clocks-apart"), severity::ok);
    EXPECT_EQ(
        together_says({server("a", "1", -30s), server("b", "2", 31s), server("c", "3", 0s)}, "clocks-apart"),
        severity::warning);
    EXPECT_EQ(together_says({server("a", "1", 0ms), server("b", "2", 0ms)}, "same-server"), severity::ok);
    EXPECT_EQ(
        together_says({server("a", "1", 0ms), server("b", "2", 0ms), server("c", "1", 0ms)}, "same-server"),
        severity::warning);
    EXPECT_EQ(together_says({server("a", "", 0ms), server("b", "", 0ms)}, "same-server"), severity::ok);
}

TEST(examinations, sentinels_may_watch_many_masters) {
    auto sentinel = server("s", "1", 0ms);
    sentinel.role = "sentinel";
    EXPECT_EQ(together_says({sentinel, sentinel}, "same-server"), severity::ok);
}

TEST(examinations, report_different_versions) {
    auto newer = server("b", "2", 0ms);
    newer.version = "7.2.4";
    EXPECT_EQ(together_says({server("a", "1", 0ms), newer}, "versions-differ"), severity::note);
    EXPECT_EQ(together_says({server("a", "1", 0ms), server("b", "2", 0ms)}, "versions-differ"), severity::ok);
}

// Earlier comparisons are made again, and one machine examines all servers.
TEST(examinations, merged_twice_repeat_no_finding) {
    const auto look = [](const std::string& address, severity own) {
        return examination{{server(address, address, 0ms)},
                           {{"own-clock", own, "this machine", "", "", "", promise::none}}};
    };
    std::vector<examination> two;
    two.push_back(look("a", severity::ok));
    two.push_back(look("b", severity::warning));
    std::vector<examination> again;
    again.push_back(together(std::move(two)));
    again.push_back(look("c", severity::ok));
    const auto all = together(std::move(again));
    const auto count = [&](std::string_view id) {
        return std::count_if(all.findings.begin(), all.findings.end(),
                             [&](const auto& f) { return f.id == id; });
    };
    EXPECT_EQ(count("own-clock"), 1);
    EXPECT_EQ(count("clocks-apart"), 1);
    EXPECT_EQ(count("versions-differ"), 1);
    EXPECT_EQ(all.worst(), severity::warning);
}

TEST(examinations, rate_unknown_findings_by_the_promise_that_rests_on_them) {
    const auto worst = [](severity s, promise p) {
        return examination{{}, {{"x", s, "", "", "", "", p}}}.worst();
    };
    EXPECT_EQ(worst(severity::unknown, promise::none), severity::note);
    EXPECT_EQ(worst(severity::unknown, promise::timed), severity::warning);
    EXPECT_EQ(worst(severity::danger, promise::none), severity::danger);
    EXPECT_EQ(worst(severity::note, promise::live), severity::note);
    EXPECT_EQ(examination{}.worst(), severity::ok);
}

}  // namespace
}  // namespace holdfast::redis_backend::doctor
