// One session with a server, made step by step on a thread that may block.
#pragma once

#include "backends/postgres/libpq.hpp"
#include "backends/postgres/url.hpp"
#include "backends/sql/connector.hpp"
#include "base/owned_fd.hpp"
#include "base/wake_fd.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::postgres_backend {

struct close_session {
    void operator()(PGconn* c) const noexcept { pq().PQfinish(c); }
};
using pg_session = std::unique_ptr<PGconn, close_session>;
struct clear_result {
    void operator()(PGresult* r) const noexcept { pq().PQclear(r); }
};
using pg_result = std::unique_ptr<PGresult, clear_result>;

// The rows of a result, and what an error in it means.
[[nodiscard]] sql_backend::rows rows_of(const PGresult* result);
[[nodiscard]] sql_backend::fault fault_in(const PGresult* result, bool changes);

struct session_options {
    url to;
    std::string label;                            // see sql_backend::label
    std::chrono::milliseconds answer_timeout{0};  // of each step, and of statements later
    // Prepared in each session, so that they need not be parsed again.
    std::vector<const sql_backend::prepared*> statements{};
    // Of a session that receives messages. It holds the exclusive advisory lock of this number meanwhile.
    std::string listens_at{};
    std::int64_t listener = 0;
};

struct made_session {
    pg_session session;
    // A second descriptor of its socket: libpq closes its own as soon as the connection breaks, on any
    // thread, and the number may then mean another file.
    base::owned_fd watched;
    sql_backend::server_facts server;
};

// Blocks until the session can be used, or `stop` becomes readable. Only the system's look-up of a host name
// cannot be stopped. Throws sql_backend::session_error.
[[nodiscard]] made_session make_session(const session_options& how, const base::wake_fd& stop);

}  // namespace holdfast::postgres_backend
