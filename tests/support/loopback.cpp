#include "support/loopback.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace holdfast::test {

namespace {

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

[[noreturn]] void socket_failed(const char* what) {
    throw std::system_error{errno, std::generic_category(), what};
}

unique_fd tcp_socket(int more = 0) {
    unique_fd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | more, 0)};
    if (!fd) socket_failed("socket");
    return fd;
}

}  // namespace

unique_fd bound_socket(std::uint16_t port) {
    unique_fd fd = tcp_socket();
    // Without SO_REUSEADDR a port whose earlier connections are in TIME_WAIT cannot be bound again.
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in address = loopback(port);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        socket_failed("bind");
    return fd;
}

std::uint16_t port_of(const unique_fd& socket) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
        socket_failed("getsockname");
    return ntohs(address.sin_port);
}

namespace {

unique_fd connected(unique_fd fd, std::uint16_t port) {
    const sockaddr_in address = loopback(port);
    const auto code = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (code != 0 && errno != EINPROGRESS) return {};
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

}  // namespace

unique_fd connect_to(std::uint16_t port) { return connected(tcp_socket(), port); }

unique_fd begin_to_connect_to(std::uint16_t port) { return connected(tcp_socket(SOCK_NONBLOCK), port); }

}  // namespace holdfast::test
