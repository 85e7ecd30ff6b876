// A real MariaDB server for one test.
#pragma once

#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/loopback.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// The constructor starts the server and returns when it answers; the destructor ends it, and so does the end
// of the thread that started it. It listens on a port of 127.0.0.1 and a unix socket. Not thread-safe. Throws
// std::runtime_error, with the server's log, when something fails that a test relies on.
class mariadb_server {
  public:
    struct options {
        bool sync = false;  // whether a commit waits for the disk; a killed server keeps it anyway
        std::vector<std::string> settings;  // "max_connections=10"
        child_process::environment environment{};
    };

    mariadb_server();
    explicit mariadb_server(options wanted);
    mariadb_server(const mariadb_server&) = delete;
    mariadb_server& operator=(const mariadb_server&) = delete;
    ~mariadb_server();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
    [[nodiscard]] pid_t pid() const noexcept { return process_->pid(); }
    [[nodiscard]] std::string socket() const;
    // mysql://holdfast@127.0.0.1:port/DATABASE?create=true. holdfast may do everything.
    [[nodiscard]] std::string url(const std::string& database = "locks",
                                  const std::string& user = "holdfast") const;

    // Executes statements as holdfast, on a connection of their own. The rows of the last, as texts; NULL is
    // empty. Throws if the server reports an error.
    using rows = std::vector<std::vector<std::string>>;
    rows run(const std::string& sql, const std::string& database = "locks");

    // A session that stays, with its transaction.
    class session {
      public:
        session(const mariadb_server& on, const std::string& database = "locks");
        session(const session&) = delete;
        session& operator=(const session&) = delete;
        ~session();
        rows run(const std::string& sql);

      private:
        void* connection_;
    };

    // SIGKILL, as a crash.
    void stop();
    void start();
    // Ends it in order.
    void shut_down();
    // SIGSTOP: connections stay open without answers.
    void pause() { process_->pause(); }
    void resume() { process_->resume(); }
    // The server ends all sessions but the one that asks.
    void end_sessions();
    // As many as a process has that wait or hold for long.
    [[nodiscard]] std::size_t sessions_of(pid_t pid);

  private:
    [[nodiscard]] std::string log() const;

    options options_;
    temp_dir directory_;
    reserved_port port_;
    std::optional<child_process> process_;
};

}  // namespace holdfast::test
