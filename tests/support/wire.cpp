#include "support/wire.hpp"

#include "support/loopback.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace holdfast::test {

namespace {

// False: the connection has ended. A call that would block does not end it.
bool goes_on(ssize_t n) { return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)); }

}  // namespace

wire::wire(std::uint16_t to_port, memory keeps, std::function<std::unique_ptr<tap>()> taps)
    : to_port_(to_port),
      keeps_(keeps),
      taps_(std::move(taps)),
      listener_(bound_socket(0)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    port_ = port_of(listener_);
    ::listen(listener_.get(), 64);
    thread_ = std::thread{[this] { run(); }};
}

wire::~wire() {
    {
        const std::lock_guard hold{mutex_};
        stopping_ = true;
    }
    wake();
    thread_.join();
}

std::vector<std::string> wire::sent() const {
    const std::lock_guard hold{mutex_};
    std::vector<std::string> all;
    for (const auto& c : connections_) all.push_back(c.from_client);
    return all;
}

void wire::cut_all() {
    const std::lock_guard hold{mutex_};
    for (auto& c : connections_) c.open = false;
    for (auto& c : connections_) c.client.reset(), c.server.reset();
    wake();
}

void wire::cut_after(std::size_t bytes) {
    const std::lock_guard hold{mutex_};
    for (auto& c : connections_) c.left = bytes;
}

void wire::hold_back(bool hold_them) {
    const std::lock_guard hold{mutex_};
    holding_ = hold_them;
    wake();
}

void wire::stall(bool stall_it) {
    const std::lock_guard hold{mutex_};
    stalled_ = stall_it;
    wake();
}

void wire::wake() const { ::eventfd_write(wake_.get(), 1); }

void wire::run() {
    for (;;) {
        std::vector<pollfd> fds{{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
        std::vector<connection*> polled;
        {
            const std::lock_guard hold{mutex_};
            if (stopping_) return;
            if (stalled_) fds[0].events = 0;
            for (auto& c : connections_) {
                if (!c.open || stalled_) continue;
                const bool behind = c.passed_on < c.from_client.size();
                fds.push_back(
                    {c.client.get(),
                     static_cast<short>((holding_ ? 0 : POLLIN) | (c.to_client.empty() ? 0 : POLLOUT)), 0});
                fds.push_back({c.server.get(), static_cast<short>(POLLIN | (behind ? POLLOUT : 0)), 0});
                polled.push_back(&c);
            }
        }
        ::poll(fds.data(), fds.size(), -1);
        const std::lock_guard hold{mutex_};
        if (fds[1].revents != 0) {
            eventfd_t count = 0;
            ::eventfd_read(wake_.get(), &count);
        }
        for (std::size_t i = 0; i < polled.size() && !stalled_; ++i) {
            auto& c = *polled[i];
            if (c.open) serve(c, fds[2 + 2 * i].revents, fds[3 + 2 * i].revents);
            if (!c.open) c.client.reset(), c.server.reset();
        }
        if (keeps_ == memory::none) forget();
        if (fds[0].revents != 0 && !stalled_) {
            connection c;
            c.client.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            c.server = begin_to_connect_to(to_port_);
            c.open = c.client && c.server;
            if (!c.open) c.client.reset();  // refused there, so refused here: nothing else would end it
            if (taps_) c.reader = taps_();
            connections_.push_back(std::move(c));
        }
    }
}

void wire::forget() {
    connections_.remove_if([](const connection& c) { return !c.open; });
    for (auto& c : connections_) {
        c.from_client.erase(0, c.passed_on);
        c.passed_on = 0;
    }
}

void wire::serve(connection& c, short client_events, short server_events) const {
    std::array<char, 65536> buffer;
    if ((client_events & (POLLIN | POLLHUP | POLLERR)) != 0 && !holding_) {
        const auto n = ::recv(c.client.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n > 0) c.from_client.append(buffer.data(), static_cast<std::size_t>(n));
        if (n > 0 && c.reader) c.reader->from_client({buffer.data(), static_cast<std::size_t>(n)});
        c.open = c.open && goes_on(n);
    }
    if ((server_events & (POLLIN | POLLHUP | POLLERR)) != 0) {
        const auto n = ::recv(c.server.get(), buffer.data(), std::min(buffer.size(), c.left), MSG_DONTWAIT);
        if (n > 0) {
            const std::string_view bytes{buffer.data(), static_cast<std::size_t>(n)};
            c.left -= bytes.size();
            if (!c.reader)
                c.to_client += bytes;
            else if (!c.reader->from_server(bytes, c.to_client))
                c.left = 0;
        }
        c.open = c.open && goes_on(n) && c.left > 0;
    }
    if (const auto rest = std::string_view{c.from_client}.substr(c.passed_on); !rest.empty()) {
        const auto n = ::send(c.server.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) c.passed_on += static_cast<std::size_t>(n);
    }
    if (!c.to_client.empty()) {
        const auto n =
            ::send(c.client.get(), c.to_client.data(), c.to_client.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) c.to_client.erase(0, static_cast<std::size_t>(n));
    }
}

}  // namespace holdfast::test
