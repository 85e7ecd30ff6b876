// All servers of a cluster.
#include "backends/redis/doctor/checks.hpp"
#include "backends/redis/doctor/cluster_nodes.hpp"
#include "backends/redis/doctor/examine.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace holdfast::redis_backend::doctor {

namespace {

// Where clients reach a node, and its role.
struct node_place {
    redis::endpoint at;
    part as = part::master;

    friend bool operator==(const node_place& a, const node_place& b) { return a.at == b.at; }
};

std::optional<redis::endpoint> endpoint_in(std::string_view address) {
    const auto colon = address.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto port = whole(address.substr(colon + 1)).value_or(0);
    auto host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (port <= 0 || port > 65'535 || host.empty()) return std::nullopt;
    return redis::endpoint{std::string{host}, static_cast<std::uint16_t>(port)};
}

void add_place(std::vector<node_place>& to, node_place p) {
    if (std::find(to.begin(), to.end(), p) == to.end()) to.push_back(std::move(p));
}

// Adds all nodes in the list of `from`, also those that it takes for failed. If a master does not list the
// others, adds the master itself.
void add_nodes(std::vector<node_place>& to, std::string_view list, const redis::endpoint& from, bool names) {
    for (const auto& node : nodes_in(list)) {
        if (node.is("noaddr") || node.is("handshake")) continue;
        auto host = names && !node.hostname.empty() ? node.hostname : node.host;
        if (host.empty() && node.is("myself")) host = from.host;
        const auto port = whole(node.port).value_or(0);
        if (host.empty() || port <= 0 || port > 65'535) continue;
        add_place(to, {{std::string{host}, static_cast<std::uint16_t>(port)},
                       node.is("slave") ? part::replica : part::master});
    }
    if (list.empty()) add_place(to, {from, part::master});
}

// The owners of the slots, as text: equal for servers that see the same cluster.
std::string owners_in(std::string_view list) {
    std::set<std::string> lines;
    for (const auto& node : nodes_in(list)) {
        const auto settled = node.slots.substr(0, node.slots.find('['));  // without slots that are moving
        if (!settled.empty()) lines.insert(std::string{node.id}.append(" ").append(settled));
    }
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    return text;
}

void compare_views(const std::vector<server_result>& all, examination& to) {
    std::map<std::string, std::string> seen_by;
    for (const auto& one : all) {
        const auto* const s = std::get_if<snapshot>(&one.found);
        if (s == nullptr || s->cluster_nodes.text().empty()) continue;
        auto& who = seen_by[owners_in(s->cluster_nodes.text())];
        who.append(who.empty() ? "" : ", ").append(one.address);
    }
    report r{"the cluster"};
    if (seen_by.empty()) {
        r.unknown("cluster-views", "no server lists the others");
    } else if (seen_by.size() == 1) {
        r.ok("cluster-views", "all name the same owners of all slots");
    } else {
        std::string list;
        for (const auto& [view, who] : seen_by) list.append(list.empty() ? "" : "; others than ").append(who);
        r.warning("cluster-views", "servers name different owners of slots: " + list);
    }
    auto found = std::move(r).findings();
    std::move(found.begin(), found.end(), std::back_inserter(to.findings));
}

}  // namespace

void examine_cluster(redis::database& cluster, const redis::cluster_config& config,
                     temporary_connections& connections, const query& i, examination_handler done) {
    const auto until = std::min(i.deadline, boot_clock::now() + i.patience);
    cluster.command_everywhere(
        std::array<std::string_view, 2>{"CLUSTER", "NODES"}, until,
        [config, &connections, i,
         done = std::move(done)](const std::vector<redis::database::server_outcome>& lists) {
            std::vector<node_place> places;
            server_answer no_list;
            for (const auto& [server, what] : lists) {
                const server_answer list{redis::outcome{what}};
                const auto at = endpoint_in(server);
                if (at)
                    add_nodes(places, list.text(), *at, config.each.tls != nullptr);
                else
                    no_list = list;
            }
            if (places.empty()) return done(no_list.why());
            std::vector<connection_to> all;
            for (const auto& p : places) {
                auto of_one = i;
                of_one.as = p.as;
                auto to = redis::node_config_of(config, p.at);
                to.connections = 1;
                all.push_back({std::move(to), std::move(of_one)});
            }
            connections.ask_all(std::move(all), [done](const std::vector<server_result>& found) {
                examination of_all;
                for (const auto& one : found) add_to(of_all, one);
                compare_views(found, of_all);
                std::vector<examination> one;
                one.push_back(std::move(of_all));
                done(together(std::move(one)));
            });
        });
}

}  // namespace holdfast::redis_backend::doctor
