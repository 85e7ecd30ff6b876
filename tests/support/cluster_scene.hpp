// A real Redis Cluster for one test, whose slots can be moved and whose servers can be lost.
#pragma once

#include "support/redis_server.hpp"
#include "support/wire.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

// Masters with one replica each, on free ports of 127.0.0.1. The constructor returns when all servers agree
// that the cluster is well. That takes some seconds, so share one in a suite. Not thread-safe. Servers have
// numbers; which ones are masters changes with failovers.
class cluster_scene {
  public:
    struct options {
        std::size_t masters = 3;
        bool replicas = true;
        std::vector<std::string> users;  // see redis_server::options
        // Clients speak TLS, and so do the servers with each other.
        std::optional<redis_server::tls> secured{};
        // Clients and replicas reach a server over its wire: it announces that port. The bus bypasses them.
        bool wires = false;
    };
    cluster_scene();
    explicit cluster_scene(options);

    // redis+cluster://[user:password@]127.0.0.1:port,...  or rediss+cluster, with ?ca=
    [[nodiscard]] std::string url(const std::string& credentials = {}) const;

    [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
    [[nodiscard]] redis_server& server(std::size_t n) { return *servers_[n]; }
    [[nodiscard]] wire& wire_to(std::size_t n) { return *wires_.at(n); }

    // As the running servers see it.
    [[nodiscard]] std::uint16_t slot_of(const std::string& key);
    [[nodiscard]] std::size_t owner_of(std::uint16_t slot);
    [[nodiscard]] redis_server& master_of(const std::string& key) { return server(owner_of(slot_of(key))); }
    // Sends to the master of the second word. A redirection is an error.
    redis_reply command(const std::vector<std::string>& words) {
        return master_of(words.at(1)).command(words);
    }
    [[nodiscard]] bool exists(const std::string& key) { return command({"EXISTS", key}).number == 1; }
    // A key that begins with `prefix`, in a slot of server `n`.
    [[nodiscard]] std::string key_on(std::size_t n, const std::string& prefix);
    // A master that does not own the slot.
    [[nodiscard]] std::size_t another_master(std::uint16_t slot);
    [[nodiscard]] std::vector<std::size_t> masters();
    [[nodiscard]] std::size_t replica_of(std::size_t master);

    // --- moves of a slot ------------------------------------------------------------------------------
    // From here on the slot's keys may be on both servers.
    void begin_move(std::uint16_t slot, std::size_t to);
    void move_key(const std::string& key, std::size_t to);
    void move_keys(std::uint16_t slot, std::size_t to);
    void end_move(std::uint16_t slot, std::size_t to);
    // All three steps.
    void move(std::uint16_t slot, std::size_t to);

    // --- servers that are lost -------------------------------------------------------------------------
    void kill(std::size_t n);
    void pause(std::size_t n);
    // Undoes kill() or pause().
    void bring_back(std::size_t n);
    // As an operator would: the replica takes over and loses nothing. Does not wait for it.
    void begin_fail_over(std::size_t master);
    // Its replica receives nothing more from it, until `let_replicas_hear`.
    void cut_replica_of(std::size_t master);
    void let_replicas_hear();
    // Returns when all that is written so far is on its replica.
    void wait_for_replica(std::size_t master);
    // Every slot has a running master, and all running servers know it.
    [[nodiscard]] bool is_well();
    // Also waits until every master has a replica that is up to date.
    void wait_until_well();

  private:
    // As the master itself sees it.
    [[nodiscard]] std::optional<std::size_t> known_replica_of(std::size_t master);
    [[nodiscard]] bool runs(std::size_t n) const { return !gone_.contains(n); }
    [[nodiscard]] std::size_t any();
    [[nodiscard]] std::string id_of(std::size_t n);
    [[nodiscard]] std::size_t at_port(std::int64_t port) const;
    void announce(std::size_t n);
    void introduce();
    [[nodiscard]] std::map<std::string, std::string> epochs_seen_by(std::size_t n);  // by id
    [[nodiscard]] std::optional<std::size_t> owner_seen_by(std::size_t n, std::uint16_t slot);
    void must(std::size_t n, const std::vector<std::string>& words);
    void add_server(const options&);
    [[nodiscard]] std::uint16_t client_port(std::size_t n) const;
    [[nodiscard]] std::uint16_t server_port(std::size_t n) const;

    std::vector<std::unique_ptr<redis_server>> servers_;
    std::vector<std::unique_ptr<wire>> wires_;  // none, or one for each server
    std::vector<reserved_port> bus_ports_;
    std::optional<redis_server::tls> secured_;
    bool replicas_ = true;
    std::set<std::size_t> gone_;
    std::set<std::size_t> paused_;
};

}  // namespace holdfast::test
