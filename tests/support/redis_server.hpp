// A real redis-server for one test, and its replies. HOLDFAST_REDIS_SERVER in the environment names another
// program to run instead.
#pragma once

#include "support/certificates.hpp"
#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/loopback.hpp"

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;

namespace holdfast::test {

// A reply as a value, printable for gtest.
struct redis_reply {
    enum class kind { nil, status, string, integer, array, error };

    kind type = kind::nil;
    std::string text;                // of a status, string or error; an integer in decimal
    std::int64_t number = 0;         // of an integer
    std::vector<redis_reply> items;  // of an array

    [[nodiscard]] bool is_nil() const noexcept { return type == kind::nil; }
    [[nodiscard]] bool is_error() const noexcept { return type == kind::error; }

    friend bool operator==(const redis_reply&, const redis_reply&) = default;
    // As redis-cli shows it: (nil), OK, "text", (integer) 3, [..., ...], (error) ...
    friend std::ostream& operator<<(std::ostream& out, const redis_reply& reply);
};

// The constructor starts the server and returns when it answers. The server is killed by the destructor, or
// when the thread that started it ends. It listens on a port of 127.0.0.1, which it keeps until the
// destructor, and on a unix socket. Not thread-safe. Throws std::runtime_error, with the server's log, when
// something fails that a test relies on.
class redis_server {
  public:
    enum class persistence {
        none,         // nothing is written unless a test asks for it
        append_only,  // every write is on disk before its reply
    };
    enum class data { keep, lose };

    enum class client_certificates { unwanted, required };
    // A second port that speaks TLS; `command` goes over the other one.
    struct tls {
        certificate own;
        std::string ca;  // the authority that signs clients' certificates
        client_certificates from_clients = client_certificates::unwanted;
    };

    struct options {
        std::string password;            // of the default user, which `command` uses
        std::vector<std::string> users;  // ACL lines without the word user: "alice on >secret ~* &* +@all"
        persistence disk = persistence::none;
        bool debug_command = false;  // DEBUG SLEEP and the like
        bool sentinel = false;       // run as a sentinel; `config` names its master
        std::optional<tls> secured;
        std::vector<std::string> config;         // more lines of redis.conf: "maxmemory 1mb"
        child_process::environment environment;  // of the server's process: LD_PRELOAD for a wrong clock
    };

    redis_server();
    explicit redis_server(options wanted);
    redis_server(const redis_server&) = delete;
    redis_server& operator=(const redis_server&) = delete;
    ~redis_server();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
    [[nodiscard]] std::string socket_path() const;
    [[nodiscard]] const std::string& password() const noexcept { return options_.password; }
    [[nodiscard]] pid_t pid() const noexcept { return process_->pid(); }
    // redis://[:password@]127.0.0.1:port
    [[nodiscard]] std::string url() const;
    [[nodiscard]] std::uint16_t tls_port() const noexcept { return tls_port_.number(); }

    // Sends over a connection of the fixture, which is reopened after a loss. Waits for the reply while the
    // connection lives; it ends with the server's process. An error of the server is a reply. A lost reply is
    // an exception, never a second try: the command may have run.
    redis_reply command(const std::vector<std::string>& words);
    // All keys, sorted.
    [[nodiscard]] std::vector<std::string> keys();

    // SIGKILL, as a crash.
    void stop();
    // Returns when the server answers; throws after `patience`, or if its process ends first.
    void start();
    [[nodiscard]] bool running() { return process_ && process_->running(); }
    // SIGSTOP: connections stay open without answers.
    void pause();
    void resume();
    // stop and start on the same port. data::keep works without persistence too: it saves first.
    void restart(data what);

  private:
    void write_config() const;
    // Why the server does not answer yet; empty if it does.
    [[nodiscard]] std::string not_ready_because();
    void ensure_connected();
    [[nodiscard]] std::string log() const;

    options options_;
    temp_dir directory_;
    reserved_port port_;
    reserved_port tls_port_;
    std::optional<child_process> process_;
    std::unique_ptr<redisContext, void (*)(redisContext*)> connection_;
};

}  // namespace holdfast::test
