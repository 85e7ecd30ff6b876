// The messages that a client sends and receives.
#pragma once

#include "backends/common/message.hpp"
#include "backends/common/wake_socket.hpp"
#include "base/annotations.hpp"
#include "io/reactor.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::backends {

// Thread-safe.
class mailbox {
  public:
    // See wake_socket. `on_message` is called on the reactor's thread, or for a message of this client to
    // itself by send().
    mailbox(io::reactor& on, const std::string& folder, std::string client,
            std::function<void(const message&)> on_message);

    // From now on other clients reach this one. Empty: they do. Else why not, for people. Throws
    // std::bad_alloc: then they do not.
    [[nodiscard]] std::string open();
    // Whether they do now.
    [[nodiscard]] bool is_open();
    [[nodiscard]] bool reaches(std::string_view client);
    [[nodiscard]] wake_socket::sent send(const std::string& to, const message& what);
    // Receives nothing more. Not on the reactor's thread.
    void close();

    // In a forked child. Takes no lock.
    void abandon() noexcept NO_THREAD_SAFETY_ANALYSIS { socket_.abandon(); }

  private:
    void receive();

    io::reactor& reactor_;
    const std::string client_;
    const std::function<void(const message&)> on_message_;
    base::mutex mutex_;
    wake_socket socket_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::backends
