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

// Empty, with errno.
base::owned_fd new_socket() noexcept {
    return base::owned_fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
}

bool is_shortage(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

const sockaddr* generic(const sockaddr_un& a) { return reinterpret_cast<const sockaddr*>(&a); }

}  // namespace

wake_socket::wake_socket(std::string folder, std::string client)
    : folder_(std::move(folder)), client_(std::move(client)) {}

void wake_socket::close() noexcept {
    if (in_ && ours_) ::unlinkat(directory_.get(), client_.c_str(), 0);
    in_ = {};
}

// 0, or errno. If there is none, nobody has ever listened.
int wake_socket::open_folder() noexcept {
    if (!directory_) directory_ = base::owned_fd{::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    return directory_ ? 0 : errno;
}

void wake_socket::open() {
    if (in_) return;
    const auto check = [](bool done, const std::string& what) {
        if (!done) throw std::system_error(errno, std::generic_category(), what);
    };
    if (open_folder() != 0) {
        check(::mkdir(folder_.c_str(), S_IRWXU) == 0 || errno == EEXIST, folder_);
        check(open_folder() == 0, folder_);
    }
    // A client that others may ask must be able to answer.
    for (auto* const one : {&out_, &probe_}) {
        if (!*one) *one = new_socket();
        check(static_cast<bool>(*one), "socket");
    }
    auto s = new_socket();
    check(static_cast<bool>(s), "socket");
    const auto at = address_of(directory_.get(), client_);
    if (!at || ::bind(s.get(), generic(*at), sizeof *at) != 0)
        throw std::system_error(at ? errno : ENAMETOOLONG, std::generic_category(), folder_);
    in_ = std::move(s);
}

bool wake_socket::reaches(std::string_view client) {
    if (const int no = open_folder(); no != 0) return is_shortage(no);
    const auto to = address_of(directory_.get(), client);
    if (!to) return false;
    if (!probe_) probe_ = new_socket();
    if (!probe_) return true;
    if (::connect(probe_.get(), generic(*to), sizeof *to) == 0) return true;
    if (errno == ECONNREFUSED) ::unlinkat(directory_.get(), std::string{client}.c_str(), 0);
    return false;
}

wake_socket::sent wake_socket::send(std::string_view client, std::string_view text) {
    if (const int no = open_folder(); no != 0)
        return is_shortage(no) ? sent::not_now : sent::receiver_is_gone;
    const auto to = address_of(directory_.get(), client);
    if (!to) return sent::receiver_is_gone;
    if (!out_) out_ = new_socket();
    if (!out_) return sent::not_now;
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
