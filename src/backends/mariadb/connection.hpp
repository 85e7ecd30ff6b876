// A session that carries out one statement after the other.
#pragma once

#include "backends/mariadb/session.hpp"
#include "backends/sql/connection.hpp"
#include "backends/sql/connector.hpp"

#include <string>

namespace holdfast::mariadb_backend {

class connection final : public sql_backend::connection {
  public:
    connection(made_session made, std::chrono::milliseconds answer_timeout);

  private:
    // What libmariadb does for the first statement.
    enum class phase {
        idle,
        asking,   // the statement, until the first answer begins
        reading,  // a result
        next,     // until the result of the next statement in the same text begins
    };

    [[nodiscard]] bool submit() override REQUIRES(mutex_);
    void advance(progress& p) override REQUIRES(mutex_);
    [[nodiscard]] bool flush() override REQUIRES(mutex_) { return (waits_ & MYSQL_WAIT_WRITE) != 0; }
    void end_session() noexcept override REQUIRES(mutex_);
    [[nodiscard]] int socket() const noexcept override REQUIRES(mutex_) {
        return my().mysql_get_socket(db_.get());
    }

    void begin() REQUIRES(mutex_);
    void go_on() REQUIRES(mutex_);
    void read_result() REQUIRES(mutex_);
    void end_phase(progress& p) REQUIRES(mutex_);
    void fail_first(progress& p) REQUIRES(mutex_);
    void look_for_the_end(progress& p) REQUIRES(mutex_);

    const bool tls_;
    maria_session db_ GUARDED_BY(mutex_);
    phase now_ GUARDED_BY(mutex_) = phase::idle;
    int waits_ GUARDED_BY(mutex_) = 0;  // for what, as libmariadb says; 0: the phase is over
    std::string sql_ GUARDED_BY(mutex_);
    int failed_ GUARDED_BY(mutex_) = 0;
    MYSQL_RES* result_ GUARDED_BY(mutex_) = nullptr;
};

// Makes such a session, see make_session().
[[nodiscard]] sql_backend::session_maker maker_of(session_options how);

}  // namespace holdfast::mariadb_backend
