// A master, two replicas and three sentinels that watch them.
#pragma once

#include "support/redis_server.hpp"
#include "support/wire.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

// Clients, sentinels and the other servers reach a server over its wire. So a wire that stalls cuts its
// server off from all of them, and the server runs on without notice. `command` bypasses the wire.
//
// The constructor starts all and returns when they know each other. The sentinels act faster than in
// production: they replace a lost master after about two seconds.
//
// Throws std::runtime_error when a state that a test relies on does not come about. Not thread-safe.
class sentinel_scene {
  public:
    static constexpr std::size_t servers = 3;
    static constexpr std::size_t sentinels = 3;
    static constexpr auto name = "the-master";

    sentinel_scene();
    sentinel_scene(const sentinel_scene&) = delete;
    sentinel_scene& operator=(const sentinel_scene&) = delete;

    // The URL of a client with the right credentials for both; `more` are further options, as
    // "connect_timeout=1s".
    [[nodiscard]] std::string url(const std::string& more = {}) const;
    // The URL of a client that may also ask the sentinels about themselves.
    [[nodiscard]] std::string url_of_examiner() const;
    // The URL of a client that asks these sentinels.
    [[nodiscard]] static std::string url_of(const std::vector<std::uint16_t>& ports,
                                            const std::string& more = {});
    [[nodiscard]] std::vector<std::uint16_t> sentinel_ports() const;

    // The present master, as far as a call of this scene has set it or waited for it.
    [[nodiscard]] std::size_t master_index() const noexcept { return master_; }
    [[nodiscard]] redis_server& master() { return *servers_.at(master_)->server; }
    [[nodiscard]] redis_server& server(std::size_t i) { return *servers_.at(i)->server; }
    [[nodiscard]] wire& wire_to(std::size_t i) { return servers_.at(i)->wire; }
    [[nodiscard]] redis_server& sentinel(std::size_t i) { return *sentinels_.at(i); }
    // "127.0.0.1:PORT", as the sentinels and clients see it.
    [[nodiscard]] std::string address(std::size_t i) const;

    // Returns when everything written so far is on the replicas.
    void replicate();
    // The replicas receive nothing more from the master, until `heal` or `let_replicas_hear`.
    void cut_replicas();
    void let_replicas_hear();

    // As an operator would: the master lives, and another server becomes the master.
    void fail_over();
    // The same in two parts. The end leaves the former master in place if the sentinels have given up.
    void begin_fail_over();
    void end_fail_over();
    // Call this after the master was killed, stopped or cut off. Returns when all sentinels name another one.
    void await_failover();
    // Brings back a server that was killed, stopped or cut off. It keeps its former role.
    void bring_back(std::size_t i);
    // Makes it a replica now, without closing a connection. The sentinels would do so seconds later.
    void follow_master(std::size_t i);
    // Returns when all servers run, all wires pass, the master has two replicas in step, and the sentinels
    // know. The master is the server that the sentinels name, which may be another one than before.
    void heal();

    static constexpr auto user = "app";
    static constexpr auto password = "apps-word";
    static constexpr auto sentinel_user = "asker";
    static constexpr auto sentinel_password = "askers-word";
    static constexpr auto examiner = "examiner";
    static constexpr auto examiner_password = "examiners-word";

  private:
    struct watched_server {
        explicit watched_server(const redis_server::options& o)
            : server(std::make_unique<redis_server>(o)), wire(server->port(), test::wire::memory::none) {}

        std::unique_ptr<redis_server> server;
        test::wire wire;
    };

    void announce(std::size_t i);
    [[nodiscard]] bool takes_itself_for_master(std::size_t i);
    [[nodiscard]] std::size_t sentinels_that_name(std::size_t i);
    [[nodiscard]] bool no_failover_goes_on();
    // Sets master_ to the server that most sentinels name, if that server says the same.
    [[nodiscard]] bool find_master();
    [[nodiscard]] bool in_step();
    [[nodiscard]] bool known_to_sentinels();
    [[nodiscard]] std::string report();

    std::vector<std::unique_ptr<watched_server>> servers_;
    std::vector<std::unique_ptr<redis_server>> sentinels_;
    std::size_t master_ = 0;
};

}  // namespace holdfast::test
