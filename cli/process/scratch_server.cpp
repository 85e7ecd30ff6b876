#include "cli/process/scratch_server.hpp"

#include "cli/process/environment.hpp"
#include "cli/process/interrupted.hpp"

#include <holdfast/types.hpp>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// A server needs some ten milliseconds to start, on a busy machine more.
constexpr auto start_limit = 20s;

// A socket's path has a limited length, into which a long TMPDIR does not fit.
constexpr std::size_t longest_folder = sizeof(sockaddr_un::sun_path) - sizeof("/replica.sock");

std::string folder_template(std::string_view prefix) {
    std::error_code none;
    auto in = fs::temp_directory_path(none);
    if (!none) in = fs::absolute(in, none);  // servers have another working directory than we
    if (none) in = "/tmp";
    auto name = (in / fmt::format("{}.XXXXXX", prefix)).string();
    return name.size() <= longest_folder ? name : fmt::format("/tmp/{}.XXXXXX", prefix);
}

std::optional<fs::path> on_path(std::string_view program) {
    auto left = environment_variable("PATH");
    if (left.empty()) left = "/usr/local/bin:/usr/bin:/bin";
    while (true) {
        const auto length = std::min(left.find(':'), left.size());
        const auto candidate = fs::path{left.substr(0, length)} / program;
        std::error_code ignored;
        if (fs::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0)
            return candidate;
        if (length == left.size()) return std::nullopt;
        left.remove_prefix(length + 1);
    }
}

// A port on which nobody listens now.
int free_port() {
    const unique_fd probe{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (!probe || ::bind(probe.get(), address, size) != 0 || ::getsockname(probe.get(), address, &size) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot find a free port");
    return ntohs(at.sin_port);
}

}  // namespace

scratch_folder::scratch_folder(std::string_view prefix) {
    auto name = folder_template(prefix);
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::system_error(errno, std::generic_category(),
                                fmt::format("cannot create the temporary folder {}", name));
    }
    path_ = name;
}

scratch_folder::~scratch_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

scratch_server::scratch_server(const scratch_folder& in, const server_options& how)
    : folder_(in.path()),
      how_(how),
      socket_(folder_ / (how.name + ".sock")),
      log_(folder_ / (how.name + ".log")) {
    for (int tries = 1;; ++tries) {
        try {
            start();
            return;
        } catch (const no_server&) {
            // Another process may have taken the port since free_port() found it.
            if (!how.listens || tries == 5) throw;
        }
    }
}

std::filesystem::path scratch_server::written_settings() const {
    // The password is in a file, because all users of the machine can read a command line.
    auto settings = folder_ / (how_.name + ".conf");
    std::ofstream secret{settings};
    if (!how_.password.empty())
        secret << "requirepass " << how_.password << "\nmasterauth " << how_.password << '\n';
    if (how_.master_port != 0) secret << "replicaof 127.0.0.1 " << how_.master_port << '\n';
    return settings;
}

std::vector<std::string> scratch_server::command_line(const std::string& program,
                                                      const std::string& settings) const {
    return {program,
            settings,
            "--port",
            std::to_string(port_),
            "--bind",
            "127.0.0.1",
            "--unixsocket",
            socket_.string(),
            "--unixsocketperm",
            "700",
            "--dir",
            folder_.string(),
            "--dbfilename",
            how_.name + ".rdb",
            "--logfile",
            log_.string(),
            "--save",
            "",
            "--appendonly",
            "no",
            "--daemonize",
            "no",
            "--repl-diskless-sync-delay",
            "0"};
}

void scratch_server::start() {
    const auto program = on_path("redis-server");
    if (!program) {
        throw no_server(
            "this starts a redis-server of its own, but there is none on PATH; install it with: apt-get "
            "install redis-server");
    }
    port_ = how_.listens ? free_port() : 0;
    auto words = command_line(program->string(), written_settings().string());
    auto runs = *program;
    if (!how_.environment.empty()) {
        runs = "/usr/bin/env";
        words.insert(words.begin(), how_.environment.begin(), how_.environment.end());
        words.insert(words.begin(), "env");
    }
    process_.emplace(runs, words, scoped_process::talk::none);
    wait_for_answer(program->string());
}

void scratch_server::wait_for_answer(const std::string& program) {
    const auto limit = boot_clock::now() + start_limit;
    while (!answers()) {
        if (process_->status())
            throw no_server(fmt::format("{} ended at its start: {}", program, last_words()));
        if (boot_clock::now() > limit) {
            throw no_server(
                fmt::format("{} does not answer after {} s: {}", program, start_limit.count(), last_words()));
        }
        if (how_.signals != nullptr) throw_if_interrupted(*how_.signals);
        std::this_thread::sleep_for(5ms);
    }
}

void scratch_server::kill() { process_.reset(); }

void scratch_server::restart() {
    kill();
    start();
}

bool scratch_server::answers() const {
    const unique_fd link{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, socket_.c_str(), sizeof to.sun_path - 1);
    if (!link || ::connect(link.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return false;
    const timeval patience{1, 0};
    ::setsockopt(link.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    constexpr std::string_view question = "PING\r\n";
    if (::send(link.get(), question.data(), question.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(question.size()))
        return false;
    std::array<char, 64> reply{};
    const auto got = ::recv(link.get(), reply.data(), reply.size(), 0);
    const std::string_view answer{reply.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    return answer.starts_with("+PONG") || answer.starts_with("-NOAUTH");
}

std::string scratch_server::last_words() const {
    std::ifstream log{log_};
    std::string last;
    for (std::string line; std::getline(log, line);) {
        if (!line.empty()) last = line;
    }
    return last.empty() ? "its log is empty" : last;
}

}  // namespace holdfast::cli
