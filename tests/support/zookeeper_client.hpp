// A bare client of a ZooKeeper server: what a program without a library sends.
#pragma once

#include "support/loopback.hpp"
#include "support/unique_fd.hpp"
#include "zookeeper/wire.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

// One connection, one request at a time. Not thread-safe; blocks. Throws std::runtime_error when the
// connection ends.
class zookeeper_client {
  public:
    explicit zookeeper_client(std::uint16_t port, const zookeeper::login& as = {.timeout_ms = 30'000})
        : to_(connect_to(port)) {
        send(zookeeper::frame_of_login(as));
        const auto in = zookeeper::parse_login(next());
        if (!in) throw std::runtime_error{"no login"};
        session = in->session;
    }
    // The body of the answer; empty if the server refuses.
    std::string ask(const zookeeper::request& r) {
        send(zookeeper::frame(++xid_, r));
        for (;;) {
            const auto reply = next_reply();
            if (reply.first.xid == zookeeper::xid_of_event) {
                events_.push_back(reply.second);
                continue;
            }
            last = reply.first.err;
            return reply.second;
        }
    }
    // A request that leaves a watch. await_event() then waits for that one: what earlier ones have reported
    // is forgotten.
    std::string ask_and_watch(const zookeeper::request& r) {
        auto body = ask(r);
        events_.clear();
        return body;
    }
    // Waits for the event of a watch.
    void await_event() {
        if (events_.empty() && next_reply().first.xid != zookeeper::xid_of_event)
            throw std::runtime_error{"a reply without a request"};
        if (!events_.empty()) events_.pop_front();
    }
    std::vector<std::string> children(const std::string& path) {
        const auto found =
            zookeeper::parse_children(ask(zookeeper::get_children(path, zookeeper::watch::no)));
        return found ? found->names : std::vector<std::string>{};
    }

    std::int64_t session = 0;
    zookeeper::code last = zookeeper::code::ok;

  private:
    std::pair<zookeeper::reply, std::string> next_reply() {
        const auto content = next();
        auto reply = zookeeper::parse_reply(content);
        if (!reply) throw std::runtime_error{"no reply"};
        std::string body{reply->body};
        reply->body = {};
        return {*reply, std::move(body)};
    }
    void send(const std::string& bytes) {
        if (::send(to_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
            throw std::runtime_error{"the server is gone"};
    }
    std::string next() {
        for (;;) {
            if (const auto content = in_.next()) return std::string{*content};
            std::array<char, 4096> bytes;
            const auto n = ::read(to_.get(), bytes.data(), bytes.size());
            if (n <= 0) throw std::runtime_error{"the server closed the connection"};
            in_.feed({bytes.data(), static_cast<std::size_t>(n)});
        }
    }

    unique_fd to_;
    std::deque<std::string> events_;
    zookeeper::frame_reader in_;
    std::int32_t xid_ = 0;
};

}  // namespace holdfast::test
