// Makes one ready connection: asks the source for the address if there is one, resolves, connects, sets up
// TLS if wanted and does the Redis handshake.
#pragma once

#include "io/reactor.hpp"
#include "io/stream.hpp"
#include "redis/connection/handshake.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <variant>
#include <vector>

namespace holdfast::redis {

// A connection after its handshake. The reactor does not watch its descriptor yet.
struct connected {
    std::shared_ptr<io::stream> stream;
    std::unique_ptr<parser> replies;  // it contains no bytes beyond the handshake
    server_info info;
};

// One attempt; make a new connector for the next. Used, and destroyed, only on the reactor thread.
class connector : public std::enable_shared_from_this<connector> {
  public:
    using handler = std::function<void(std::variant<connected, connect_failure>)>;

    connector(const node_config&, purpose, io::reactor&, handler done);
    connector(const connector&) = delete;
    connector& operator=(const connector&) = delete;
    ~connector();

    // Calls `done` once, after this has returned, unless `cancel` is called first.
    void start();
    void cancel();

    // True if it connects to another address; false while it still asks for the address.
    [[nodiscard]] bool leads_elsewhere(const host_port& than) const {
        return target_.has_value() && *target_ != than;
    }

  private:
    // A thread of its own: the system's resolver may take minutes, and the reactor must renew leases.
    struct lookup;
    void ask_where();
    void head_for(const host_port&);
    void log_in_and_resolve();
    void resolve();
    void look_up();
    void on_resolved(std::vector<io::address> found, const std::string& why);
    void try_next();
    void watch(std::uint32_t events);
    void on_event();
    void secure();
    void send_rest();
    void receive();
    void fail(connect_failure);
    void fail_address(std::error_code);
    void fail_closed();
    [[nodiscard]] std::string tls_hint() const;
    void finish(std::variant<connected, connect_failure> how);
    void arm_timer();
    void stop();

    node_config config_;
    const purpose use_;
    io::reactor& reactor_;
    handler done_;

    std::optional<host_port> target_;  // set when a source has given it
    io::endpoint endpoint_;
    std::shared_ptr<lookup> lookup_;  // under way
    std::vector<io::address> addresses_;
    std::size_t next_address_ = 0;
    io::time_point give_up_;
    io::timer_id timer_;

    std::shared_ptr<io::stream> stream_;
    bool watched_ = false;
    enum class phase {
        connecting,  // the socket connects
        securing,    // the TLS handshake; no byte of Redis is sent
        greeting,    // the Redis handshake
    } phase_ = phase::connecting;
    handshake handshake_;
    std::unique_ptr<parser> parser_;
    std::size_t sent_ = 0;
    std::error_code broken_;  // of the connection; what the server sent before can still be read
};

}  // namespace holdfast::redis
