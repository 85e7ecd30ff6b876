// A real server of an SQL database for one test, as far as the databases are alike.
#pragma once

#include "support/certificates.hpp"
#include "support/child_process.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

enum class sql_kind { postgres, mariadb };

[[nodiscard]] const char* name_of(sql_kind);
void PrintTo(sql_kind, std::ostream*);
// Those whose driver this build has.
[[nodiscard]] std::vector<sql_kind> sql_kinds();

// Not thread-safe. Throws std::runtime_error, with the server's log, when something fails that a test relies
// on.
class sql_server {
  public:
    // Rows of texts; NULL is empty.
    using rows = std::vector<std::vector<std::string>>;
    // A session that keeps its transaction open.
    class session {
      public:
        session() = default;
        session(const session&) = delete;
        session& operator=(const session&) = delete;
        virtual ~session() = default;
        virtual rows run(const std::string& sql) = 0;
    };

    sql_server() = default;
    sql_server(const sql_server&) = delete;
    sql_server& operator=(const sql_server&) = delete;
    virtual ~sql_server() = default;

    [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;
    // The database that is there from the start, and the user holdfast, who may do everything. Missing tables
    // are made.
    [[nodiscard]] std::string url() const { return url(first_database(), "holdfast"); }
    [[nodiscard]] virtual std::string url(const std::string& database, const std::string& user) const = 0;
    [[nodiscard]] virtual const char* first_database() const noexcept = 0;

    // Executes statements as holdfast, on a connection of their own. The rows of the last. Throws if the
    // server reports an error.
    rows run(const std::string& sql) { return run(sql, first_database()); }
    virtual rows run(const std::string& sql, const std::string& database) = 0;
    [[nodiscard]] virtual std::unique_ptr<session> connect() = 0;

    // SIGKILL, as a crash.
    virtual void stop() = 0;
    virtual void start() = 0;
    // SIGSTOP: connections stay open without answers.
    virtual void pause() = 0;
    virtual void resume() = 0;
    // The server ends the sessions of all clients.
    virtual void end_sessions() = 0;
    // As many as others see of a process that waits or holds for long.
    [[nodiscard]] virtual std::size_t sessions_of(pid_t pid) = 0;

    // --- what each database says in other words ---------------------------------------------------------

    // A user who may log in, and no more.
    virtual void create_user(const std::string& name) = 0;
    // New sessions are serializable unless they say otherwise.
    virtual void isolate_by_default() = 0;
    // Ends the sessions of clients, too.
    virtual void refuse_writes() = 0;
    virtual void accept_writes() = 0;
    // What happens before each change of a row of holdfast_lock.
    enum class trouble { disk_is_full, takes_an_hour };
    virtual void begin(trouble) = 0;
    virtual void end_trouble() = 0;
    // A setting with which a crash may lose locks; returns what the doctor says about it.
    virtual std::string endanger_locks() = 0;
    // Since 1970.
    [[nodiscard]] virtual std::chrono::seconds clock() = 0;

    // The URL of a client in TLS that trusts this authority, those of this machine, or anybody.
    [[nodiscard]] virtual std::string url_trusting(const certificate_authority& one) const = 0;
    [[nodiscard]] virtual std::string url_trusting_this_machine() const = 0;
    [[nodiscard]] virtual std::string url_trusting_anybody() const = 0;
};

struct sql_server_options {
    child_process::environment environment{};
    const certificate* shows = nullptr;  // in TLS; its folder becomes readable for everybody
};
// The name of such a server in a certificate, as certificate_authority::issue() wants it.
[[nodiscard]] const char* name_to_certify(sql_kind);
[[nodiscard]] std::unique_ptr<sql_server> start_sql_server(sql_kind, const sql_server_options& how = {});

}  // namespace holdfast::test
