#include "backends/common/wake_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

namespace holdfast::backends {

namespace {

constexpr std::size_t largest_message = 4096;

// By the descriptor of the folder: the path of a socket has 107 bytes at most, that of a folder may be
// longer.
std::optional<sockaddr_un> address_of(int directory, std::string_view client) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    const auto path = "/proc/self/fd/" + std::to_string(directory) + '/' + std::string{client};
    if (client.empty() || client.find('/') != std::string_view::npos || path.size() >= sizeof to.sun_path)
        return std::nullopt;
    std::memcpy(static_cast<char*>(to.sun_path), path.c_str(), path.size() + 1);
    return to;
}

base::owned_fd new_socket() {
    base::owned_fd s{::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!s) throw std::system_error(errno, std::generic_category(), "socket");
    return s;
}

const sockaddr* generic(const sockaddr_un& a) { return reinterpret_cast<const sockaddr*>(&a); }

}  // namespace

wake_socket::wake_socket(std::string folder, std::string client)
    : folder_(std::move(folder)), client_(std::move(client)) {}

wake_socket::~wake_socket() {
    if (in_ && ours_) ::unlinkat(directory_.get(), client_.c_str(), 0);
}

// False: there is none, so nobody has ever listened.
bool wake_socket::open_folder() {
    if (!directory_) directory_ = base::owned_fd{::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    return static_cast<bool>(directory_);
}

void wake_socket::open() {
    if (in_) return;
    if (!open_folder()) {
        if (::mkdir(folder_.c_str(), S_IRWXU) != 0 && errno != EEXIST)
            throw std::system_error(errno, std::generic_category(), folder_);
        if (!open_folder()) throw std::system_error(errno, std::generic_category(), folder_);
    }
    auto s = new_socket();
    const auto at = address_of(directory_.get(), client_);
    if (!at || ::bind(s.get(), generic(*at), sizeof *at) != 0)
        throw std::system_error(at ? errno : ENAMETOOLONG, std::generic_category(), folder_);
    in_ = std::move(s);
}

bool wake_socket::reaches(std::string_view client) {
    if (!open_folder()) return false;
    const auto to = address_of(directory_.get(), client);
    if (!to) return false;
    if (!probe_) probe_ = new_socket();
    if (::connect(probe_.get(), generic(*to), sizeof *to) == 0) return true;
    if (errno == ECONNREFUSED) ::unlinkat(directory_.get(), std::string{client}.c_str(), 0);
    return false;
}

wake_socket::sent wake_socket::send(std::string_view client, std::string_view text) {
    if (!open_folder()) return sent::receiver_is_gone;
    const auto to = address_of(directory_.get(), client);
    if (!to) return sent::receiver_is_gone;
    if (!out_) out_ = new_socket();
    const auto n =
        ::sendto(out_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL, generic(*to), sizeof *to);
    if (n >= 0) return sent::yes;
    if (errno == ENOENT) return sent::receiver_is_gone;
    if (errno != ECONNREFUSED) return sent::not_now;
    ::unlinkat(directory_.get(), std::string{client}.c_str(), 0);
    return sent::receiver_is_gone;
}

void wake_socket::receive_all(const std::function<void(std::string_view)>& take) {
    std::array<char, largest_message> text{};
    while (in_) {
        const auto n = ::recv(in_.get(), text.data(), text.size(), MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return;
        take({text.data(), static_cast<std::size_t>(n)});
    }
}

}  // namespace holdfast::backends
