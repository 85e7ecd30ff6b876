// A real PostgreSQL server for one test.
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
// of the thread that started it. It listens on a port of 127.0.0.1 and a unix socket, and trusts everybody.
// PostgreSQL refuses to run as root: then it runs as the user nobody. Not thread-safe. Throws
// std::runtime_error, with the server's log, when something fails that a test relies on.
class postgres_server final : public sql_server {
  public:
    struct options {
        bool sync = false;                            // whether a commit waits for the disk
        std::vector<std::string> settings;            // "max_connections=10"
        const postgres_server* replica_of = nullptr;  // follows it from its start on, asynchronously
        child_process::environment environment{};
    };

    postgres_server();
    explicit postgres_server(options wanted);
    postgres_server(const postgres_server&) = delete;
    postgres_server& operator=(const postgres_server&) = delete;
    ~postgres_server() override;

    [[nodiscard]] std::uint16_t port() const noexcept override { return port_.number(); }
    [[nodiscard]] std::string socket_directory() const;
    [[nodiscard]] pid_t pid() const noexcept { return process_->pid(); }
    [[nodiscard]] std::filesystem::path data() const { return directory_.path() / "data"; }
    // postgres://holdfast@127.0.0.1:port/DATABASE?create=true. holdfast is a superuser.
    [[nodiscard]] std::string url(const std::string& database = "postgres",
                                  const std::string& user = "holdfast") const override;
    [[nodiscard]] const char* first_database() const noexcept override { return "postgres"; }

    rows run(const std::string& sql, const std::string& database = "postgres") override;

    class session final : public sql_server::session {
      public:
        explicit session(const postgres_server& on, const std::string& database = "postgres");
        session(const session&) = delete;
        session& operator=(const session&) = delete;
        ~session() override;
        rows run(const std::string& sql) override;

      private:
        void* connection_;
    };

    [[nodiscard]] std::unique_ptr<sql_server::session> connect() override;

    // SIGKILL to all of its processes, as a crash.
    void stop() override;
    void start() override;
    // Ends it in order, so that nothing is lost.
    void shut_down();
    // Waits until it answers.
    void wait_until_up();
    // SIGKILL to one session that is not ours, as if it had crashed: the server then starts anew by itself.
    void crash_a_session();
    // What this server commits from now on reaches no replica.
    void stop_sending();
    // A replica becomes a server of its own.
    void promote();
    // A directory becomes, with all in it, the user's that the server runs as.
    static void give_all(const std::filesystem::path& directory);
    // Its files can be read only by the user that the server runs as.
    static void give(const std::filesystem::path& file);
    // The command, run as that user.
    static std::vector<std::string> as_its_user(std::vector<std::string> command);
    void pause() override;
    void resume() override;
    void end_sessions() override;
    // As many as connections have been made for a process.
    [[nodiscard]] std::size_t sessions_of(pid_t pid) override;

    void create_user(const std::string& name) override;
    void isolate_by_default() override;
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
    [[nodiscard]] std::vector<pid_t> processes() const;
    // Since its last start.
    [[nodiscard]] std::string log() const;

    options options_;
    temp_dir directory_;
    reserved_port port_;
    std::optional<child_process> process_;
};

}  // namespace holdfast::test
