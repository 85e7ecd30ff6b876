#include "raw.hpp"

#include "support/resp.hpp"

#include <array>
#include <stdexcept>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace holdfast::bench {

namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

raw_connection::raw_connection(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect");
}

void raw_connection::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0) fail("send");
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

std::string_view raw_connection::read() { return read_for(-1); }

std::string_view raw_connection::read_for(int timeout_ms) {
    inbox_.erase(0, used_);
    used_ = 0;
    for (;;) {
        if (const auto length = test::resp_message_length(inbox_)) {
            used_ = *length;
            return std::string_view{inbox_}.substr(0, used_);
        }
        if (timeout_ms >= 0) {
            pollfd p{fd_.get(), POLLIN, 0};
            if (::poll(&p, 1, timeout_ms) == 0) return {};
        }
        std::array<char, 16384> more;
        const auto n = ::recv(fd_.get(), more.data(), more.size(), 0);
        if (n <= 0) fail("recv");
        inbox_.append(more.data(), static_cast<std::size_t>(n));
    }
}

std::string_view raw_connection::ask() {
    send(to_send);
    to_send.clear();
    const auto reply = read();
    if (reply.starts_with('-')) throw std::runtime_error("the server replied " + std::string{reply});
    return reply;
}

void raw_connection::load(const redis_scripts::script& s) {
    add("SCRIPT", "LOAD", s.text);
    (void)ask();
}

}  // namespace holdfast::bench
