// Messages by LISTEN and NOTIFY.
#pragma once

#include "backends/postgres/connection.hpp"
#include "backends/sql/connector.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace holdfast::postgres_backend {

// One session that listens, from the first open() on. Others see by its advisory locks that it does.
class notifications final : public sql_backend::mailbox {
  public:
    notifications(io::reactor& reactor, const session_options& how, handlers to);
    ~notifications() override;

    state open() override;
    void listen(const std::string& channel, std::function<void()> listening) override;
    void stop_listening(const std::string& channel) override;
    void close() override;
    void abandon() noexcept override { sockets_.close_all(); }

    // The server's process that serves it; 0: none.
    [[nodiscard]] std::int64_t session() const noexcept { return session_.load(std::memory_order_relaxed); }

  private:
    using report = std::function<void()>;

    void post(std::function<void()> task);
    void connect();
    void connect_in(std::chrono::nanoseconds pause);
    void on_made(sql_backend::connector::result result);
    void on_lost(const sql_backend::failure& why);
    void send_listen(const std::string& channel);
    void send_text(std::string sql, sql_backend::handler<sql_backend::outcome> done);

    io::reactor& reactor_;
    const sql_backend::session_maker make_;
    const std::chrono::milliseconds answer_timeout_;
    sql_backend::open_sockets sockets_;
    std::atomic<state> state_{state::closed};
    std::atomic<bool> asked_for_{false};
    std::atomic<std::int64_t> session_{0};

    // Reactor thread.
    handlers to_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // empty: closed
    std::unique_ptr<sql_backend::connector> connecting_;
    std::shared_ptr<sql_backend::connection> open_;
    std::map<std::string, report> channels_;
    io::timer_id again_;
    sql_backend::pauses pauses_;
};

}  // namespace holdfast::postgres_backend
