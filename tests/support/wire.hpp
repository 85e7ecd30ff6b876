// A wire that can be tapped and cut: passes bytes to a port and back, without knowing what they mean.
#pragma once

#include "support/unique_fd.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::test {

// Listens from construction to destruction on a free port of 127.0.0.1. Functions may be called from any
// thread.
class wire {
  public:
    // Whether `sent` knows what has passed. The memory adds up when a wire lives for hours.
    enum class memory { all, none };

    // Reads the bytes of one connection on the wire's thread. Do not call the wire.
    class tap {
      public:
        tap() = default;
        tap(const tap&) = delete;
        tap& operator=(const tap&) = delete;
        virtual ~tap() = default;

        virtual void from_client(std::string_view bytes) = 0;
        // Appends to `pass` what goes on to the client. False: the connection is cut after that.
        virtual bool from_server(std::string_view bytes, std::string& pass) = 0;
    };

    explicit wire(std::uint16_t to_port, memory keeps = memory::all,
                  std::function<std::unique_ptr<tap>()> taps = {});
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;
    ~wire();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    // The bytes from the clients so far: one text for each connection, ended ones too.
    [[nodiscard]] std::vector<std::string> sent() const;

    // Closes every connection, both ends.
    void cut_all();
    // Each connection that is open now is cut when `bytes` more bytes from the server have passed.
    void cut_after(std::size_t bytes);
    // Stops or resumes reading from the clients.
    void hold_back(bool hold);
    // Stops or resumes all bytes in both directions, as a network cut does.
    void stall(bool stall);

  private:
    struct connection {
        unique_fd client;
        unique_fd server;
        std::string from_client;
        std::size_t passed_on = 0;  // bytes of from_client
        std::string to_client;
        std::unique_ptr<tap> reader;
        std::size_t left = std::numeric_limits<std::size_t>::max();  // bytes from the server until the cut
        bool open = true;
    };

    void run();
    void serve(connection&, short client_events, short server_events) const;
    void forget();
    void wake() const;

    std::uint16_t to_port_;
    const memory keeps_;
    const std::function<std::unique_ptr<tap>()> taps_;
    std::uint16_t port_;
    unique_fd listener_;
    unique_fd wake_;  // eventfd

    mutable std::mutex mutex_;  // guards everything below; the thread holds it except in its poll
    std::list<connection> connections_;
    bool holding_ = false;
    bool stalled_ = false;
    bool stopping_ = false;

    std::thread thread_;
};

}  // namespace holdfast::test
