#include "http/listening_socket.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <memory>
#include <system_error>

namespace holdfast::http {

namespace {

constexpr int connections_that_wait = 16;

[[noreturn]] void refuse(std::string_view address, const std::string& why) {
    throw error(errc::invalid_argument, "config::metrics_listen: '" + base::printable(address) + "' " + why);
}

struct host_and_port {
    std::string host, port;
};

host_and_port split(std::string_view address) {
    const auto colon = address.rfind(':');
    if (colon == std::string_view::npos || colon == 0)
        refuse(address,
               "is no host:port, as 127.0.0.1:9464 is; 0.0.0.0 stands for all addresses of the machine");
    auto host = address.substr(0, colon);
    const auto port = address.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string_view::npos)
        refuse(address, "needs brackets around the address, as in [::1]:9464");
    std::uint16_t number = 0;
    const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (failed != std::errc{} || end != port.data() + port.size())
        refuse(address, "does not end with a port from 0 to 65535");
    return {std::string{host}, std::string{port}};
}

std::string address_of(int fd) {
    sockaddr_storage at{};
    socklen_t size = sizeof at;
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0 ||
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&at), size, host.data(), host.size(), port.data(),
                      port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return {};
    const auto name =
        at.ss_family == AF_INET6 ? '[' + std::string{host.data()} + ']' : std::string{host.data()};
    return name + ':' + port.data();
}

bool listens(int fd, const addrinfo& on) {
    const int yes = 1;  // so that a program that has just ended does not keep its successor out
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    return ::bind(fd, on.ai_addr, on.ai_addrlen) == 0 && ::listen(fd, connections_that_wait) == 0;
}

}  // namespace

listening_socket listen_on(std::string_view address) {
    const auto [host, port] = split(address);
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (const int rc = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); rc != 0)
        refuse(address, std::string{"names no host: "} + ::gai_strerror(rc));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned{found, &::freeaddrinfo};
    // Bound only when a child can no longer keep a copy.
    auto fd = base::fork_closed_fd::from([&] {
        return ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                        found->ai_protocol);
    });
    if (!fd) throw std::system_error(errno, std::generic_category(), "config::metrics_listen");
    if (!listens(fd.get(), *found))
        refuse(address, "cannot be listened on: " + std::generic_category().message(errno));
    auto at = address_of(fd.get());
    return {std::move(fd), std::move(at)};
}

}  // namespace holdfast::http
