// A real MariaDB server for one test.
#pragma once

#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/loopback.hpp"
#include "support/sql_server.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// The constructor starts the server and returns when it answers; the destructor ends it, and so does the end
// of the thread that started it. It listens on a port of 127.0.0.1 and a unix socket. Not thread-safe. Throws
// std::runtime_error, with the server's log, when something fails that a test relies on.
class mariadb_server final : public sql_server {
  public:
    struct options {
        bool sync = false;  // whether a commit waits for the disk; a killed server keeps it anyway
        std::vector<std::string> settings;  // "max_connections=10"
        child_process::environment environment{};
        std::filesystem::path data{};  // what the server begins with; empty: a new server's
    };

    mariadb_server();
    explicit mariadb_server(options wanted);
    mariadb_server(const mariadb_server&) = delete;
    mariadb_server& operator=(const mariadb_server&) = delete;
    ~mariadb_server() override;

    [[nodiscard]] std::uint16_t port() const noexcept override { return port_.number(); }
    [[nodiscard]] pid_t pid() const noexcept { return process_->pid(); }
    [[nodiscard]] std::string socket() const;
    [[nodiscard]] std::filesystem::path data() const { return directory_.path() / "data"; }
    // mysql://holdfast@127.0.0.1:port/DATABASE?create=true. holdfast may do everything.
    [[nodiscard]] std::string url(const std::string& database = "locks",
                                  const std::string& user = "holdfast") const override;
    [[nodiscard]] const char* first_database() const noexcept override { return "locks"; }

    rows run(const std::string& sql, const std::string& database = "locks") override;

    class session final : public sql_server::session {
      public:
        explicit session(const mariadb_server& on, const std::string& database = "locks");
        session(const session&) = delete;
        session& operator=(const session&) = delete;
        ~session() override;
        rows run(const std::string& sql) override;

      private:
        void* connection_;
    };

    [[nodiscard]] std::unique_ptr<sql_server::session> connect() override;

    void stop() override;
    void start() override;
    // Ends it in order.
    void shut_down();
    void pause() override { process_->pause(); }
    void resume() override { process_->resume(); }
    void end_sessions() override;
    [[nodiscard]] std::size_t sessions_of(pid_t pid) override;

    void create_user(const std::string& name) override;
    void isolate_by_default() override;
    // read_only does not bind holdfast, who has all rights, but says that the server is a replica.
    void refuse_writes() override;
    void accept_writes() override;
    void begin(trouble what) override;
    void end_trouble() override;
    std::string endanger_locks() override;
    [[nodiscard]] std::chrono::seconds clock() override;

    [[nodiscard]] std::string url_trusting(const certificate_authority& one) const override;
    [[nodiscard]] std::string url_trusting_this_machine() const override;
    [[nodiscard]] std::string url_trusting_anybody() const override;

  private:
    [[nodiscard]] std::string log() const;

    options options_;
    temp_dir directory_;
    reserved_port port_;
    std::optional<child_process> process_;
};

}  // namespace holdfast::test
