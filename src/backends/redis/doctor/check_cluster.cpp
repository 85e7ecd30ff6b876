#include "backends/redis/doctor/checks.hpp"
#include "backends/redis/doctor/cluster_nodes.hpp"

#include "redis/protocol/info_text.hpp"

#include <set>

namespace holdfast::redis_backend::doctor {

namespace {

constexpr std::int64_t all_slots = 16384;

void check_state(const snapshot& s, report& r) {
    const auto text = s.cluster_info.text();
    if (text.empty()) return r.unknown("cluster-state", "CLUSTER INFO: " + s.cluster_info.why_not());
    const auto state = redis::info_field(text, "cluster_state");
    const auto count = [&](std::string_view field) {
        return whole(redis::info_field(text, field)).value_or(0);
    };
    const auto assigned = count("cluster_slots_assigned");
    const auto failing = count("cluster_slots_fail");
    const auto doubted = count("cluster_slots_pfail");
    const auto found = "cluster_state is " + std::string{state} + ", " + std::to_string(assigned) + " of " +
                       std::to_string(all_slots) + " slots are assigned, " + std::to_string(failing) +
                       " fail";
    if (state != "ok" || assigned < all_slots || failing > 0) return r.danger("cluster-state", found);
    if (doubted > 0)
        return r.warning("cluster-state", found + ", " + std::to_string(doubted) + " are in doubt");
    r.ok("cluster-state", found);
}

void check_nodes(const snapshot& s, report& r) {
    const auto text = s.cluster_nodes.text();
    if (text.empty()) {
        r.unknown("cluster-nodes", "CLUSTER NODES: " + s.cluster_nodes.why_not());
        return r.unknown("cluster-replicas", "CLUSTER NODES: " + s.cluster_nodes.why_not());
    }
    const auto nodes = nodes_in(text);
    std::set<std::string_view> with_replica;
    std::string failing, alone;
    std::size_t serving = 0;
    bool here_has_all = false;
    const auto append = [](std::string& list, std::string_view address) {
        list.append(list.empty() ? "" : ", ").append(address);
    };
    for (const auto& node : nodes) {
        if (node.fails()) append(failing, node.address());
        if (node.is("slave") && !node.fails()) with_replica.insert(node.master);
    }
    for (const auto& node : nodes) {
        if (!node.is("master") || node.slots.empty()) continue;
        ++serving;
        here_has_all = node.is("myself");
        if (!with_replica.contains(node.id)) append(alone, node.address());
    }
    if (failing.empty())
        r.ok("cluster-nodes", "all " + std::to_string(nodes.size()) + " nodes are there");
    else
        r.warning("cluster-nodes", "failing: " + failing);
    if (!alone.empty())
        r.warning("cluster-replicas", "without a replica: " + alone);
    else if (serving > 0)
        r.ok("cluster-replicas", "each of the " + std::to_string(serving) + " masters has a replica");
    if (s.as == part::addressed && (serving > 1 || !here_has_all))
        r.warning("cluster-client",
                  std::to_string(serving) + " masters have slots, and this URL names one node");
}

void check_coverage(const snapshot& s, report& r) {
    const auto value = s.setting("cluster-require-full-coverage");
    if (!value) return r.unknown("cluster-coverage", s.why_no_setting("cluster-require-full-coverage"));
    const auto found = "cluster-require-full-coverage is " + *value;
    if (*value == "yes") return r.note("cluster-coverage", found);
    r.ok("cluster-coverage", found);
}

}  // namespace

void check_cluster(const snapshot& s, report& r) {
    check_state(s, r);
    check_nodes(s, r);
    check_coverage(s, r);
}

}  // namespace holdfast::redis_backend::doctor
