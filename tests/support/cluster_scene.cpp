#include "support/cluster_scene.hpp"

#include <chrono>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// "name:value\r\n" of INFO and CLUSTER INFO.
std::string field(const std::string& text, const std::string& name) {
    const auto at = ("\n" + text).find("\n" + name + ":");
    if (at == std::string::npos) return {};
    const auto from = at + name.size() + 1;
    return text.substr(from, text.find_first_of("\r\n", from) - from);
}

}  // namespace

cluster_scene::cluster_scene() : cluster_scene(options{}) {}

cluster_scene::cluster_scene(options wanted) : secured_(wanted.secured), replicas_(wanted.replicas) {
    const auto n = wanted.masters * (replicas_ ? 2 : 1);
    for (std::size_t i = 0; i < n; ++i) add_server(wanted);
    const auto share = 16384 / wanted.masters;
    for (std::size_t i = 0; i < wanted.masters; ++i) {
        const auto first = i * share;
        const auto last = i + 1 == wanted.masters ? 16383 : first + share - 1;
        must(i, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
        must(i, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    }
    introduce();
    // REPLICATE fails until the replica knows its master.
    for (std::size_t i = wanted.masters; i < n; ++i) {
        if (!eventually(patience, [&] {
                return server(i).command({"CLUSTER", "REPLICATE", id_of(i - wanted.masters)}).text == "OK";
            }))
            throw std::runtime_error{"a server of the cluster does not meet the others"};
    }
    wait_until_well();
}

// The others forget a server that does not answer within the node timeout; it must then be introduced again.
void cluster_scene::introduce() {
    constexpr auto enough = 3s;
    auto next = std::chrono::steady_clock::now();
    const auto all_met = [&] {
        for (std::size_t i = 0; i < size(); ++i)
            if (epochs_seen_by(i).size() != size()) return false;
        return true;
    };
    if (!eventually(patience, [&] {
            if (all_met()) return true;
            if (std::chrono::steady_clock::now() < next) return false;
            next = std::chrono::steady_clock::now() + enough;
            for (std::size_t i = 1; i < size(); ++i)
                must(0, {"CLUSTER", "MEET", "127.0.0.1", std::to_string(server_port(i)),
                         std::to_string(bus_ports_[i].number())});
            return false;
        }))
        throw std::runtime_error{"the servers of the cluster do not meet each other"};
}

void cluster_scene::add_server(const options& wanted) {
    const auto& bus = bus_ports_.emplace_back();
    redis_server::options o;
    o.users = wanted.users;
    o.config = {"cluster-enabled yes",        "cluster-port " + std::to_string(bus.number()),
                "cluster-node-timeout 1000",  "cluster-replica-validity-factor 0",
                "repl-diskless-sync-delay 0", "repl-ping-replica-period 1"};
    o.secured = wanted.secured;
    if (secured_) o.config.insert(o.config.end(), {"tls-cluster yes", "tls-replication yes"});
    servers_.push_back(std::make_unique<redis_server>(std::move(o)));
    if (!wanted.wires) return;
    wires_.push_back(std::make_unique<wire>(servers_.back()->port(), wire::memory::none));
    announce(size() - 1);
}

void cluster_scene::announce(std::size_t n) {
    if (wires_.empty()) return;
    must(n, {"CONFIG", "SET", "cluster-announce-port", std::to_string(client_port(n))});
}

std::string cluster_scene::url(const std::string& credentials) const {
    std::string text = (secured_ ? "rediss+cluster://" : "redis+cluster://") + credentials;
    for (std::size_t i = 0; i < servers_.size(); ++i)
        text += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") +
                std::to_string(secured_ ? servers_[i]->tls_port() : client_port(i));
    return secured_ ? text + "?ca=" + secured_->ca : text;
}

// The port by which other servers reach it.
std::uint16_t cluster_scene::server_port(std::size_t n) const {
    return secured_ ? servers_[n]->tls_port() : servers_[n]->port();
}

// The port that the servers name to clients without TLS.
std::uint16_t cluster_scene::client_port(std::size_t n) const {
    return n < wires_.size() ? wires_[n]->port() : servers_[n]->port();
}

void cluster_scene::must(std::size_t n, const std::vector<std::string>& words) {
    const auto answer = server(n).command(words);
    if (answer.is_error()) throw std::runtime_error{words[0] + " " + words[1] + ": " + answer.text};
}

std::size_t cluster_scene::any() {
    for (std::size_t n = 0; n < size(); ++n)
        if (runs(n)) return n;
    throw std::runtime_error{"no server of the cluster runs"};
}

std::string cluster_scene::id_of(std::size_t n) { return server(n).command({"CLUSTER", "MYID"}).text; }

std::size_t cluster_scene::at_port(std::int64_t port) const {
    for (std::size_t n = 0; n < size(); ++n)
        if (servers_[n]->port() == port || client_port(n) == port) return n;
    throw std::runtime_error{"the cluster names a server that is none of its own"};
}

std::uint16_t cluster_scene::slot_of(const std::string& key) {
    return static_cast<std::uint16_t>(server(any()).command({"CLUSTER", "KEYSLOT", key}).number);
}

std::optional<std::size_t> cluster_scene::owner_seen_by(std::size_t n, std::uint16_t slot) {
    const auto ranges = server(n).command({"CLUSTER", "SLOTS"});
    for (const auto& range : ranges.items)
        if (range.items.at(0).number <= slot && slot <= range.items.at(1).number)
            return at_port(range.items.at(2).items.at(1).number);
    return std::nullopt;
}

// "<id> <address> <flags> <master> <ping> <pong> <config-epoch> ..." of each server that it has met.
std::map<std::string, std::string> cluster_scene::epochs_seen_by(std::size_t n) {
    std::map<std::string, std::string> found;
    std::istringstream lines{server(n).command({"CLUSTER", "NODES"}).text};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        std::string id, flags, epoch, other;
        words >> id >> other >> flags >> other >> other >> other >> epoch;
        if (flags.find("handshake") == std::string::npos) found[id] = epoch;
    }
    return found;
}

std::size_t cluster_scene::owner_of(std::uint16_t slot) {
    // The view of one server lacks the owner for a moment in a failover, and when it has just met the owner.
    std::optional<std::size_t> owner;
    if (eventually(patience, [&] { return (owner = owner_seen_by(any(), slot)).has_value(); })) return *owner;
    throw std::runtime_error{"no server serves slot " + std::to_string(slot)};
}

std::vector<std::size_t> cluster_scene::masters() {
    std::set<std::size_t> found;
    const auto ranges = server(any()).command({"CLUSTER", "SLOTS"});
    for (const auto& range : ranges.items) found.insert(at_port(range.items.at(2).items.at(1).number));
    return {found.begin(), found.end()};
}

std::optional<std::size_t> cluster_scene::known_replica_of(std::size_t master) {
    const auto replicas = server(master).command({"CLUSTER", "REPLICAS", id_of(master)});
    if (replicas.items.empty()) return std::nullopt;
    // "<id> 127.0.0.1:<port>@<bus> slave ..."
    const auto& line = replicas.items.front().text;
    return at_port(std::stoi(line.substr(line.find(':') + 1)));
}

std::size_t cluster_scene::replica_of(std::size_t master) {
    if (const auto n = known_replica_of(master)) return *n;
    throw std::runtime_error{"server " + std::to_string(master) + " of the cluster has no replica"};
}

std::size_t cluster_scene::another_master(std::uint16_t slot) {
    const auto owner = owner_of(slot);
    for (const auto n : masters())
        if (n != owner && runs(n)) return n;
    throw std::runtime_error{"there is one master only"};
}

std::string cluster_scene::key_on(std::size_t n, const std::string& prefix) {
    for (int i = 0;; ++i) {
        auto key = prefix + std::to_string(i);
        if (owner_of(slot_of(key)) == n) return key;
    }
}

void cluster_scene::begin_move(std::uint16_t slot, std::size_t to) {
    const auto from = owner_of(slot);
    must(to, {"CLUSTER", "SETSLOT", std::to_string(slot), "IMPORTING", id_of(from)});
    must(from, {"CLUSTER", "SETSLOT", std::to_string(slot), "MIGRATING", id_of(to)});
}

void cluster_scene::move_key(const std::string& key, std::size_t to) {
    must(owner_of(slot_of(key)),
         {"MIGRATE", "127.0.0.1", std::to_string(server_port(to)), "", "0", "5000", "KEYS", key});
}

void cluster_scene::move_keys(std::uint16_t slot, std::size_t to) {
    auto& from = server(owner_of(slot));
    for (;;) {
        const auto keys = from.command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"});
        if (keys.items.empty()) return;
        for (const auto& key : keys.items) move_key(key.text, to);
    }
}

void cluster_scene::end_move(std::uint16_t slot, std::size_t to) {
    const auto from = owner_of(slot);
    const auto id = id_of(to);
    // The new owner gives itself an epoch above all that it knows. If the old owner's epoch were as high, a
    // late message from it would win.
    if (!eventually(patience, [&] {
            const auto of = epochs_seen_by(from);
            for (std::size_t n = 0; n < size(); ++n)
                if (runs(n) && epochs_seen_by(n) != of) return false;
            return true;
        }))
        throw std::runtime_error{"the servers of the cluster do not agree on their epochs"};
    // Since the last look a client may have made a key at the old owner, which then refuses SETSLOT.
    must(to, {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id});
    if (!eventually(patience, [&] {
            const auto keys = server(from).command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"});
            for (const auto& key : keys.items)
                server(from).command({"MIGRATE", "127.0.0.1", std::to_string(server_port(to)), "", "0",
                                      "5000", "KEYS", key.text});
            return !server(from).command({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id}).is_error();
        }))
        throw std::runtime_error{"the slot cannot be moved"};
    for (const auto n : masters())
        if (n != from && n != to && runs(n))
            must(n, {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id});
    if (!eventually(patience, [&] {
            bool all = true;
            for (std::size_t n = 0; n < size(); ++n) {
                if (!runs(n) || owner_seen_by(n, slot) == to) continue;
                // An earlier message of the old owner may have made it forget. Replicas receive no SETSLOT.
                server(n).command({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id});
                all = false;
            }
            return all;
        }))
        throw std::runtime_error{"the servers do not agree on who serves slot " + std::to_string(slot)};
}

void cluster_scene::move(std::uint16_t slot, std::size_t to) {
    begin_move(slot, to);
    move_keys(slot, to);
    end_move(slot, to);
}

void cluster_scene::kill(std::size_t n) {
    gone_.insert(n);
    server(n).stop();
}

void cluster_scene::pause(std::size_t n) {
    gone_.insert(n);
    paused_.insert(n);
    server(n).pause();
}

void cluster_scene::bring_back(std::size_t n) {
    if (paused_.erase(n) > 0)
        server(n).resume();
    else
        server(n).start();
    gone_.erase(n);
    announce(n);
}

void cluster_scene::begin_fail_over(std::size_t master) { must(replica_of(master), {"CLUSTER", "FAILOVER"}); }

void cluster_scene::cut_replica_of(std::size_t master) {
    must(replica_of(master), {"CONFIG", "SET", "masterauth", "a-word-that-nobody-asked-for"});
    must(master, {"CLIENT", "KILL", "TYPE", "replica"});
}

void cluster_scene::let_replicas_hear() {
    for (std::size_t n = 0; n < size(); ++n)
        if (runs(n)) must(n, {"CONFIG", "SET", "masterauth", ""});
}

void cluster_scene::wait_for_replica(std::size_t master) {
    if (!eventually(patience, [&] {
            const auto info = server(master).command({"INFO", "replication"}).text;
            const auto offset = field(info, "master_repl_offset");
            return info.find("state=online") != std::string::npos &&
                   info.find("offset=" + offset + ",") != std::string::npos;
        }))
        throw std::runtime_error{"a replica does not follow its master"};
}

bool cluster_scene::is_well() {
    for (std::size_t n = 0; n < size(); ++n) {
        if (!runs(n)) continue;
        const auto info = server(n).command({"CLUSTER", "INFO"}).text;
        if (field(info, "cluster_state") != "ok" || field(info, "cluster_slots_ok") != "16384" ||
            field(info, "cluster_slots_pfail") != "0" || field(info, "cluster_slots_fail") != "0" ||
            field(info, "cluster_known_nodes") != std::to_string(size()))
            return false;
        // A server may report ok and accept no writes yet.
        if (server(n).command({"CLUSTER", "SLOTS"}).items.empty()) return false;
    }
    return true;
}

void cluster_scene::wait_until_well() {
    if (!eventually(patience, [&] {
            if (!is_well()) return false;
            if (!replicas_) return true;
            for (const auto n : masters()) {
                if (!runs(n)) return false;
                const auto info = server(n).command({"INFO", "replication"}).text;
                if (field(info, "role") != "master" || info.find("state=online") == std::string::npos)
                    return false;
                // A master learns of a new replica by gossip, a little later.
                if (!known_replica_of(n)) return false;
            }
            for (std::size_t n = 0; n < size(); ++n) {
                if (!runs(n)) continue;
                const auto info = server(n).command({"INFO", "replication"}).text;
                if (field(info, "role") == "slave" && field(info, "master_link_status") != "up") return false;
            }
            return true;
        }))
        throw std::runtime_error{"the cluster does not get well"};
}

}  // namespace holdfast::test
