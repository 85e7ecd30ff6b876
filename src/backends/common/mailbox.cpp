#include "backends/common/mailbox.hpp"

#include <sys/epoll.h>

#include <system_error>
#include <utility>
#include <vector>

namespace holdfast::backends {

mailbox::mailbox(io::reactor& on, const std::string& folder, std::string client,
                 std::function<void(const message&)> on_message)
    : reactor_(on),
      client_(std::move(client)),
      on_message_(std::move(on_message)),
      socket_(folder, client_) {}

std::string mailbox::open() {
    base::guard lock(mutex_);
    if (socket_.is_open()) return {};
    try {
        socket_.open();
        reactor_.watch(socket_.fd(), EPOLLIN, [this](std::uint32_t) { receive(); });
        return {};
    } catch (const std::system_error& e) {
        return e.what();
    } catch (...) {  // nobody would receive what is sent to it
        socket_.close();
        throw;
    }
}

bool mailbox::is_open() {
    base::guard lock(mutex_);
    return socket_.is_open();
}

bool mailbox::reaches(std::string_view client) {
    base::guard lock(mutex_);
    return socket_.reaches(client);
}

wake_socket::sent mailbox::send(const std::string& to, const message& what) {
    if (to == client_) {
        on_message_(what);
        return wake_socket::sent::yes;
    }
    base::guard lock(mutex_);
    return socket_.send(to, to_text(what));
}

void mailbox::receive() {
    std::vector<message> all;
    {
        base::guard lock(mutex_);
        socket_.receive_all([&](std::string_view text) {
            if (auto m = message_of(text)) all.push_back(*std::move(m));
        });
    }
    for (const auto& m : all) on_message_(m);
}

void mailbox::close() {
    {
        base::guard lock(mutex_);
        if (!socket_.is_open()) return;
        reactor_.unwatch(socket_.fd());
    }
    reactor_.run_and_wait([] {});  // receive() has ended
}

}  // namespace holdfast::backends
