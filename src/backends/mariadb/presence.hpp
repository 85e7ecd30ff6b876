// A session that shows other clients, and operators, that this client is there.
#pragma once

#include "backends/mariadb/session.hpp"
#include "backends/sql/connector.hpp"
#include "backends/sql/database.hpp"
#include "base/wake_fd.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace holdfast::mariadb_backend {

// MariaDB sends no messages, so waiters poll. From the first open() on a session has a user lock, by which
// those who hand a lock over see that its waiter is there, and sleeps in a statement that names the client.
// Others may end its sleep by KILL QUERY: that is a ring.
class presence final : public sql_backend::mailbox {
  public:
    presence(io::reactor& reactor, session_options how, std::string label, handlers to);
    ~presence() override;

    state open() override;
    void listen(const std::string&, std::function<void()>) override {}
    void stop_listening(const std::string&) override {}
    void close() override;
    void abandon() noexcept override { sockets_.close_all(); }

    // Readable as soon as the first session is there, or could not be made.
    [[nodiscard]] std::shared_ptr<const base::wake_fd> settled() const { return settled_; }
    // The server's number of the session; 0: none.
    [[nodiscard]] std::int64_t session() const noexcept { return session_.load(std::memory_order_relaxed); }

  private:
    void connect();
    void connect_in(std::chrono::nanoseconds pause);
    void on_made(sql_backend::connector::result result);
    void on_lost(const sql_backend::failure& why);
    void sleep();
    void settle() const;

    io::reactor& reactor_;
    const sql_backend::session_maker make_;
    const std::string label_;
    const std::shared_ptr<const base::wake_fd> settled_ = std::make_shared<const base::wake_fd>();
    sql_backend::open_sockets sockets_;
    std::atomic<state> state_{state::closed};
    std::atomic<bool> asked_for_{false};
    std::atomic<std::int64_t> session_{0};

    // Reactor thread.
    handlers to_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // empty: closed
    std::unique_ptr<sql_backend::connector> connecting_;
    std::shared_ptr<sql_backend::connection> open_;
    io::timer_id again_;
    sql_backend::pauses pauses_;
};

}  // namespace holdfast::mariadb_backend
