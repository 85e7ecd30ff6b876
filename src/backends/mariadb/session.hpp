// One session with a server, made step by step on a thread that may block.
#pragma once

#include "backends/mariadb/libmariadb.hpp"
#include "backends/mariadb/url.hpp"
#include "backends/sql/connector.hpp"
#include "base/owned_fd.hpp"
#include "base/wake_fd.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace holdfast::mariadb_backend {

struct close_session {
    void operator()(MYSQL* c) const noexcept;
};
using maria_session = std::unique_ptr<MYSQL, close_session>;

// A result that was stored: its rows.
[[nodiscard]] sql_backend::rows rows_of(MYSQL_RES* result);

// While it exists, the calling thread gets no SIGPIPE from a connection that broke. Only OpenSSL raises it;
// its three system calls would be a good part of a statement's cost.
class no_broken_pipes {
  public:
    explicit no_broken_pipes(bool in_tls = true) noexcept;
    no_broken_pipes(const no_broken_pipes&) = delete;
    no_broken_pipes& operator=(const no_broken_pipes&) = delete;
    ~no_broken_pipes();

  private:
    const bool needed_;
    bool was_blocked_ = false;
    bool was_pending_ = false;
};

struct session_options {
    url to;
    std::chrono::milliseconds answer_timeout{0};  // of each step, and of statements later
    // Set for a session that shows that the client is there: it has the user lock of this number, and the
    // server ends it when it has not heard from the client for this long.
    std::optional<std::int64_t> presence{};
    std::chrono::seconds silence{0};
};

struct made_session {
    maria_session session;
    // A second descriptor of its socket: libmariadb closes its own as soon as the connection breaks, on any
    // thread, and the number may then mean another file.
    base::owned_fd watched;
    sql_backend::server_facts server;
    bool in_tls = false;
};

// Blocks until the session can be used, or `stop` becomes readable. Only the system's look-up of a host name
// cannot be stopped. Throws sql_backend::session_error.
[[nodiscard]] made_session make_session(const session_options& how, const base::wake_fd& stop);

}  // namespace holdfast::mariadb_backend
