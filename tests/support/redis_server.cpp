#include "support/redis_server.hpp"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>

namespace holdfast::test {

namespace {

// The connection closes when the server's process ends, so this limit is only for a server that hangs.
constexpr timeval answer_limit{std::chrono::duration_cast<std::chrono::seconds>(patience).count(), 0};

redis_reply convert(const redisReply& from) {
    using kind = redis_reply::kind;
    redis_reply to;
    switch (from.type) {
        case REDIS_REPLY_STATUS: to.type = kind::status; break;
        case REDIS_REPLY_ERROR: to.type = kind::error; break;
        case REDIS_REPLY_STRING: to.type = kind::string; break;
        case REDIS_REPLY_INTEGER:
            to.type = kind::integer;
            to.number = from.integer;
            to.text = std::to_string(from.integer);
            return to;
        case REDIS_REPLY_ARRAY:
            to.type = kind::array;
            for (std::size_t i = 0; i < from.elements; ++i) to.items.push_back(convert(*from.element[i]));
            return to;
        default: return to;
    }
    to.text.assign(from.str, static_cast<std::size_t>(from.len));
    return to;
}

// tests/interop runs the suites once more with other servers.
std::string server_program() {
    const char* const named = std::getenv("HOLDFAST_REDIS_SERVER");
    return named != nullptr && *named != '\0' ? named : "redis-server";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const redis_reply& reply) {
    using kind = redis_reply::kind;
    switch (reply.type) {
        case kind::nil: return out << "(nil)";
        case kind::status: return out << reply.text;
        case kind::string: return out << '"' << reply.text << '"';
        case kind::integer: return out << "(integer) " << reply.number;
        case kind::error: return out << "(error) " << reply.text;
        case kind::array: break;
    }
    out << '[';
    const char* separator = "";
    for (const auto& item : reply.items) {
        out << separator << item;
        separator = ", ";
    }
    return out << ']';
}

redis_server::redis_server() : redis_server(options{}) {}

redis_server::redis_server(options wanted) : options_(std::move(wanted)), connection_(nullptr, &redisFree) {
    start();
}

redis_server::~redis_server() = default;

std::string redis_server::socket_path() const { return (directory_.path() / "redis.sock").string(); }

std::string redis_server::url() const {
    const std::string user = options_.password.empty() ? "" : ":" + options_.password + "@";
    return "redis://" + user + "127.0.0.1:" + std::to_string(port());
}

void redis_server::write_config() const {
    std::ofstream conf{directory_.path() / "redis.conf"};
    conf << "bind 127.0.0.1\n"
         << "port " << port() << "\n"
         << "unixsocket " << socket_path() << "\n"
         << "dir " << directory_.path().string() << "\n"
         << "logfile " << (directory_.path() / "redis.log").string() << "\n"
         << "daemonize no\n"
         << "save \"\"\n";
    if (options_.disk == persistence::append_only) conf << "appendonly yes\nappendfsync always\n";
    if (!options_.password.empty()) conf << "requirepass " << options_.password << "\n";
    for (const auto& user : options_.users) conf << "user " << user << "\n";
    // Before Redis 7 there is no such setting: the command is always there.
    if (options_.debug_command && server_program().find("redis-6.2") == std::string::npos)
        conf << "enable-debug-command local\n";
    if (const auto& t = options_.secured) {
        conf << "tls-port " << tls_port() << "\n"
             << "tls-cert-file " << t->own.cert << "\n"
             << "tls-key-file " << t->own.key << "\n"
             << "tls-ca-cert-file " << t->ca << "\n"
             << "tls-auth-clients " << (t->from_clients == client_certificates::required ? "yes" : "no")
             << "\n";
    }
    for (const auto& line : options_.config) conf << line << "\n";
}

std::string redis_server::not_ready_because() {
    try {
        // The unix socket is opened last.
        const std::unique_ptr<redisContext, void (*)(redisContext*)> own{
            redisConnectUnixWithTimeout(socket_path().c_str(), answer_limit), &redisFree};
        if (!own || own->err != 0) return "its socket is not open";
        const auto answer = command({"PING"}).text;
        if (answer == "PONG") return {};
        connection_.reset();  // the server still loads its data
        return answer;
    } catch (const std::runtime_error& e) {
        connection_.reset();
        return e.what();
    }
}

void redis_server::start() {
    write_config();
    std::vector<std::string> program{server_program(), (directory_.path() / "redis.conf").string()};
    if (options_.sentinel) program.emplace_back("--sentinel");
    process_.emplace(program, options_.environment);
    std::string missing;
    // How long a start takes depends on the machine: only the end of the process is a failure.
    (void)eventually(patience,
                     [&] { return !process_->running() || (missing = not_ready_because()).empty(); });
    if (missing.empty() && process_->running()) return;
    throw std::runtime_error{"redis-server " +
                             (process_->running() ? "does not start: " + missing : "ended while it started") +
                             "\n" + process_->errors() + process_->output() + log()};
}

void redis_server::stop() {
    connection_.reset();
    process_->kill();
}

void redis_server::pause() { process_->pause(); }

void redis_server::resume() { process_->resume(); }

void redis_server::restart(data what) {
    if (what == data::keep && options_.disk == persistence::none) command({"SAVE"});
    stop();
    if (what == data::lose) {
        std::filesystem::remove_all(directory_.path() / "appendonlydir");
        std::filesystem::remove(directory_.path() / "dump.rdb");
    }
    start();
}

void redis_server::ensure_connected() {
    if (connection_) {
        // Between commands the server sends nothing, so readable means closed, as after CLIENT KILL.
        pollfd fd{connection_->fd, POLLIN, 0};
        if (connection_->err == 0 && ::poll(&fd, 1, 0) == 0) return;
    }
    connection_.reset(redisConnectWithTimeout("127.0.0.1", port(), answer_limit));
    if (!connection_ || connection_->err != 0) {
        const std::string why = connection_ ? connection_->errstr : "out of memory";
        connection_.reset();
        throw std::runtime_error{"no connection to the test's redis-server: " + why};
    }
    redisSetTimeout(connection_.get(), answer_limit);
    if (!options_.password.empty()) command({"AUTH", options_.password});
}

redis_reply redis_server::command(const std::vector<std::string>& words) {
    ensure_connected();
    std::vector<const char*> bytes;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
        bytes.push_back(word.data());
        sizes.push_back(word.size());
    }
    const std::unique_ptr<void, void (*)(void*)> reply{
        redisCommandArgv(connection_.get(), static_cast<int>(words.size()), bytes.data(), sizes.data()),
        &freeReplyObject};
    if (!reply) {
        const std::string why = connection_->errstr;
        connection_.reset();
        throw std::runtime_error{"no answer from the test's redis-server to " + words.front() + ": " + why};
    }
    // The killed connection may be this one, which closes a moment after this reply.
    if (words.size() > 1 && words[0] == "CLIENT" && words[1] == "KILL") connection_.reset();
    return convert(*static_cast<const redisReply*>(reply.get()));
}

std::vector<std::string> redis_server::keys() {
    std::vector<std::string> names;
    for (auto& item : command({"KEYS", "*"}).items) names.push_back(std::move(item.text));
    std::sort(names.begin(), names.end());
    return names;
}

std::string redis_server::log() const {
    std::ifstream file{directory_.path() / "redis.log"};
    return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace holdfast::test
