// A session in pipeline mode: statements are sent without waiting for the answers to those before.
#pragma once

#include "backends/postgres/session.hpp"
#include "backends/sql/connection.hpp"
#include "backends/sql/connector.hpp"

namespace holdfast::postgres_backend {

class connection final : public sql_backend::connection {
  public:
    connection(made_session made, std::chrono::milliseconds answer_timeout);

  private:
    [[nodiscard]] bool submit() override REQUIRES(mutex_);
    void advance(progress& p) override REQUIRES(mutex_);
    [[nodiscard]] bool flush() override REQUIRES(mutex_);
    void end_session() noexcept override REQUIRES(mutex_) { pg_.reset(); }
    [[nodiscard]] int socket() const noexcept override REQUIRES(mutex_) { return pq().PQsocket(pg_.get()); }

    void collect(progress& p) REQUIRES(mutex_);
    void take(const PGresult* r) REQUIRES(mutex_);

    const bool tls_;
    pg_session pg_ GUARDED_BY(mutex_);
    // The server has warned that a commit may not be where it should be.
    bool warned_ GUARDED_BY(mutex_) = false;
};

// Makes such a session, see make_session().
[[nodiscard]] sql_backend::session_maker maker_of(session_options how);

}  // namespace holdfast::postgres_backend
