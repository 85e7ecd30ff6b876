// One session with a server, made step by step on a thread that may block.
#pragma once

#include "backends/postgres/libpq.hpp"
#include "backends/postgres/url.hpp"
#include "backends/sql/database.hpp"
#include "base/owned_fd.hpp"
#include "base/wake_fd.hpp"

#include <cstdint>
#include <exception>
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

// What the server says about itself.
struct server_facts {
    std::string address;  // for people
    // Another one when the server may have lost commits; where the mark is not there, for each start.
    std::string run_id;
    std::chrono::seconds uptime{0};  // of this run
    std::int64_t session = 0;        // the process of the server that serves it
    bool pooled = false;             // a pooler stands between: the next statement may run in another session
};

struct made_session {
    pg_session session;
    // A second descriptor of its socket: libpq closes its own as soon as the connection breaks, on any
    // thread, and the number may then mean another file.
    base::owned_fd watched;
    server_facts server;
};

class session_error : public std::exception {
  public:
    explicit session_error(sql_backend::failure why) : why_(std::move(why)) {}
    [[nodiscard]] const sql_backend::failure& why() const noexcept { return why_; }
    [[nodiscard]] const char* what() const noexcept override { return why_.text.c_str(); }

  private:
    sql_backend::failure why_;
};

// Blocks until the session can be used, or `stop` becomes readable. Only the system's look-up of a host name
// cannot be stopped. Throws session_error.
[[nodiscard]] made_session make_session(const session_options& how, const base::wake_fd& stop);

}  // namespace holdfast::postgres_backend
