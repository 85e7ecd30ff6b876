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

unique_fd tcp_socket() {
    unique_fd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
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

unique_fd connect_to(std::uint16_t port) {
    unique_fd fd = tcp_socket();
    const sockaddr_in address = loopback(port);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

}  // namespace holdfast::test
