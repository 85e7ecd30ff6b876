// The first words on a connection: who we are, which database, what the server is. Decides, does no I/O.
#pragma once

#include "redis/config.hpp"
#include "redis/outcome.hpp"
#include "redis/server_info.hpp"

#include <string>
#include <vector>

namespace holdfast::redis {

// What a connection is for decides what must be settled first.
enum class purpose {
    commands,       // AUTH, SELECT, CLIENT SETNAME, INFO
    subscriptions,  // AUTH, CLIENT SETNAME, PING; where only a master will do, INFO
};

// Why a connection could not be made.
struct connect_failure {
    enum class what {
        unreachable,  // nobody there, or not in a state to talk: try again
        refused,      // the server does not want us as we are configured: try again seldom
    } kind;
    fault why;
};

// One handshake. Used by one thread.
class handshake {
  public:
    handshake(const node_config&, purpose);

    // All commands, for one write.
    [[nodiscard]] const std::string& request() const noexcept { return request_; }

    enum class state {
        waiting,  // for more replies
        done,     // info() is filled
        failed,   // failure() says why
    };
    // The replies in their order.
    state resume(const reply&);

    [[nodiscard]] const server_info& info() const noexcept { return info_; }
    [[nodiscard]] const connect_failure& failure() const noexcept { return failure_; }
    // What the server said last that was no success; explains a connection that it closed without more.
    [[nodiscard]] const std::string& last_error() const noexcept { return last_error_; }

  private:
    enum class step { auth, select, set_name, info_server, info_memory, info_replication, ping };

    state fail(connect_failure::what, std::error_code, const std::string& sentence,
               const std::string& server_text);

    state refuse_sentinel();

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

// The value of `field` in the text of an INFO reply; empty if it is not there.
[[nodiscard]] std::string_view info_field(std::string_view info, std::string_view field) noexcept;

}  // namespace holdfast::redis
