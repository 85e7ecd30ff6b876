// Makes one ready connection: asks where to if that is not fixed, resolves, connects, agrees on TLS where
// that is wanted, shakes hands.
#pragma once

#include "io/reactor.hpp"
#include "io/stream.hpp"
#include "redis/handshake.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <variant>
#include <vector>

namespace holdfast::redis {

// A connection after its handshake. Its descriptor is watched by nobody yet.
struct connected {
    std::shared_ptr<io::stream> stream;
    std::unique_ptr<parser> replies;  // no byte of anything after the handshake is in it
    server_info info;
};

// One attempt; make a new one for the next. Everything on the reactor thread, including destruction.
class connector : public std::enable_shared_from_this<connector> {
  public:
    using handler = std::function<void(std::variant<connected, connect_failure>)>;

    connector(const node_config&, purpose, io::reactor&, handler done);
    connector(const connector&) = delete;
    connector& operator=(const connector&) = delete;
    ~connector();

    // `done` is called once, not before this returns, unless `cancel` comes first.
    void start();
    void cancel();

    // It goes to another place; not while it still asks where to.
    [[nodiscard]] bool leads_elsewhere(const host_port& than) const {
        return target_.has_value() && *target_ != than;
    }

  private:
    // The system's resolver may take minutes, and the reactor has leases to renew meanwhile.
    struct lookup;
    void ask_where();
    void head_for(const host_port&);
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

    std::optional<host_port> target_;  // once a source told it
    io::endpoint endpoint_;
    std::shared_ptr<lookup> lookup_;  // under way
    std::vector<io::address> addresses_;
    std::size_t next_address_ = 0;
    io::time_point give_up_;
    io::timer_id timer_;

    std::shared_ptr<io::stream> stream_;
    bool watched_ = false;
    enum class phase {
        connecting,  // the socket is
        securing,    // TLS is agreed on; not a byte of Redis is sent
        greeting,    // hands are shaken with Redis
    } phase_ = phase::connecting;
    handshake handshake_;
    std::unique_ptr<parser> parser_;
    std::size_t sent_ = 0;
    std::error_code broken_;  // the connection; what the server had said before can still be read
};

}  // namespace holdfast::redis
