// The first commands on a connection: log in, select the database, learn about the server. Does no I/O.
#pragma once

#include "redis/config/node_config.hpp"
#include "redis/connection/server_info.hpp"
#include "redis/protocol/outcome.hpp"

#include <string>
#include <vector>

namespace holdfast::redis {

// The use of a connection decides which commands the handshake sends.
enum class purpose {
    commands,       // AUTH, SELECT, CLIENT SETNAME, INFO
    subscriptions,  // AUTH, CLIENT SETNAME, PING; INFO if only a master is accepted
};

// Why a connection could not be made.
struct connect_failure {
    enum class what {
        unreachable,  // no server, or one that cannot serve us now: try again
        refused,      // the server refuses us as we are configured: try again seldom
    } kind;
    fault why;
};

// One handshake. Used by one thread.
class handshake {
  public:
    handshake(const node_config&, purpose);

    // All commands, to send in one write.
    [[nodiscard]] const std::string& request() const noexcept { return request_; }

    enum class state {
        waiting,  // more replies must come
        done,     // info() is filled
        failed,   // failure() says why
    };
    // Takes the replies in order.
    state resume(const reply&);

    [[nodiscard]] const server_info& info() const noexcept { return info_; }
    [[nodiscard]] const connect_failure& failure() const noexcept { return failure_; }
    // The last error from the server; explains why it then closed the connection.
    [[nodiscard]] const std::string& last_error() const noexcept { return last_error_; }

  private:
    enum class step { auth, select, set_name, info_server, info_memory, info_replication, ping };

    state fail(connect_failure::what, std::error_code, const std::string& sentence,
               const std::string& server_text);

    state refuse_sentinel();

    // What a reply means: `failed`, or `waiting` to go on.
    state on_error(step, const std::string& text);
    state on_reply(step, const std::string& text);
    state on_info_server(const std::string& text);
    state on_info_replication(const std::string& text);

    std::string address_;
    bool master_only_;
    bool sentinel_;
    bool tls_;
    std::string request_;
    std::vector<step> steps_;  // one reply each
    std::size_t next_ = 0;
    server_info info_;
    connect_failure failure_;
    std::string last_error_;
};

}  // namespace holdfast::redis
