#include "io/stream.hpp"

#include "io/tls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace holdfast::io {

namespace {

std::error_code last_error() { return {errno, std::generic_category()}; }

address copy_of(const void* from, std::size_t size, int family) {
    address to;
    to.family = family;
    to.bytes.resize(size);
    std::memcpy(to.bytes.data(), from, size);
    return to;
}

void set(int fd, int level, int option, int value) {
    // A refused option costs speed or delays the notice of a dead peer, never correctness.
    ::setsockopt(fd, level, option, &value, sizeof value);
}

void tune_tcp(int fd, const endpoint& to) {
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    // The kernel detects a dead peer of an idle connection in 15 + 3 x 5 s.
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
    if (to.user_timeout.count() > 0) {
        const auto ms = std::min<std::int64_t>(to.user_timeout.count(), std::numeric_limits<int>::max());
        set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(ms));
    }
}

transfer of_error() {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {};
    return {progress::failed, 0, last_error()};
}

}  // namespace

bool resolves_at_once(const endpoint& to) {
    in6_addr any{};
    return !to.unix_path.empty() || ::inet_pton(AF_INET, to.host.c_str(), &any) == 1 ||
           ::inet_pton(AF_INET6, to.host.c_str(), &any) == 1;
}

std::vector<address> resolve(const endpoint& to, std::string& why) {
    std::vector<address> found;
    if (!to.unix_path.empty()) {
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        if (to.unix_path.size() >= sizeof a.sun_path) {
            why = "the socket's path is longer than the " + std::to_string(sizeof a.sun_path - 1) +
                  " bytes that the system allows";
            return found;
        }
        std::memcpy(a.sun_path, to.unix_path.data(), to.unix_path.size());
        found.push_back(copy_of(&a, sizeof a, AF_UNIX));
        return found;
    }
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int rc = ::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &wanted, &list);
    if (rc != 0) {
        why = rc == EAI_SYSTEM ? last_error().message() : ::gai_strerror(rc);
        return found;
    }
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next)
        found.push_back(copy_of(a->ai_addr, a->ai_addrlen, a->ai_family));
    ::freeaddrinfo(list);
    return found;
}

stream::stream() = default;

stream::~stream() {
    if (fd_ >= 0) ::close(fd_);
}

std::error_code stream::start_connect(const endpoint& to, const address& where) {
    fd_ = ::socket(where.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) return last_error();
    if (where.family != AF_UNIX) tune_tcp(fd_, to);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(where.bytes.data()),
                  static_cast<socklen_t>(where.bytes.size())) == 0)
        return {};
    // An interrupted connect goes on in the background, as one in progress. A unix socket with a full backlog
    // returns EAGAIN and does not go on: that is a failure.
    if (errno == EINPROGRESS || errno == EINTR) return {};
    return last_error();
}

std::error_code stream::finish_connect() {
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return last_error();
    return {error, std::generic_category()};
}

void stream::secure(const tls_context& how) { tls_ = std::make_unique<tls_session>(how, fd_); }

transfer stream::handshake() noexcept { return tls_->handshake(); }

bool stream::handshake_wants_room() const noexcept { return tls_->wants_room(); }

tls_state stream::security() const { return tls_->state(); }

transfer stream::send_some(std::string_view bytes) noexcept {
    if (tls_) return tls_->send(bytes);
    const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) return {progress::done, static_cast<std::size_t>(n), {}};
    if (n == 0) return {};
    return of_error();
}

transfer stream::recv_some(std::span<char> into) noexcept {
    if (tls_) return tls_->receive(into);
    const auto n = ::recv(fd_, into.data(), into.size(), MSG_DONTWAIT);
    if (n > 0) return {progress::done, static_cast<std::size_t>(n), {}};
    if (n == 0) return {progress::closed, 0, {}};
    return of_error();
}

void stream::shut_down() noexcept {
    if (fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);
}

}  // namespace holdfast::io
