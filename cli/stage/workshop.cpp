#include "cli/stage/workshop.hpp"

#include "cli/stage/environment.hpp"

#include <holdfast/types.hpp>

#include <fmt/format.h>
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

namespace holdfast::cli::stage {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// A working server needs some ten milliseconds; a busy machine more.
constexpr auto start_limit = 20s;

// A socket's path ends after this many bytes; a long TMPDIR does not fit.
constexpr std::size_t longest_folder = sizeof(sockaddr_un::sun_path) - sizeof("/redis.sock");

std::string folder_template(std::string_view prefix) {
    std::error_code none;
    auto in = fs::temp_directory_path(none);
    if (none) in = "/tmp";
    auto name = (in / fmt::format("{}.XXXXXX", prefix)).string();
    return name.size() <= longest_folder ? name : fmt::format("/tmp/{}.XXXXXX", prefix);
}

std::optional<fs::path> on_path(std::string_view program) {
    auto left = variable("PATH");
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

}  // namespace

private_folder::private_folder(std::string_view prefix) {
    auto name = folder_template(prefix);
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::system_error(errno, std::generic_category(), fmt::format("no temporary folder {}", name));
    }
    path_ = name;
}

private_folder::~private_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

private_server::private_server(const private_folder& in)
    : socket_(in.path() / "redis.sock"), log_(in.path() / "redis.log") {
    const auto program = on_path("redis-server");
    if (!program) {
        throw no_server(
            "a redis-server is started for this and ends with it, but there is none on PATH; install it "
            "with: "
            "apt-get install redis-server");
    }
    process_.emplace(
        *program,
        std::vector<std::string>{"redis-server", "--port", "0", "--unixsocket", socket_.string(),
                                 "--unixsocketperm", "700", "--dir", in.path().string(), "--logfile",
                                 log_.string(), "--save", "", "--appendonly", "no", "--daemonize", "no"},
        helper::talk::none);
    const auto limit = boot_clock::now() + start_limit;
    while (!answers()) {
        if (process_->status())
            throw no_server(fmt::format("{} ended at once: {}", program->string(), last_words()));
        if (boot_clock::now() > limit) {
            throw no_server(fmt::format("{} does not answer after {} s: {}", program->string(),
                                        start_limit.count(), last_words()));
        }
        std::this_thread::sleep_for(5ms);
    }
}

bool private_server::answers() const {
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
    return got > 0 && std::string_view{reply.data(), static_cast<std::size_t>(got)}.starts_with("+PONG");
}

std::string private_server::last_words() const {
    std::ifstream log{log_};
    std::string last;
    for (std::string line; std::getline(log, line);) {
        if (!line.empty()) last = line;
    }
    return last.empty() ? "it left no log" : last;
}

}  // namespace holdfast::cli::stage
