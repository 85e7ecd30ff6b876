#include "lab/play/reply_dropper.hpp"

#include "cli/process/unique_fd.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <list>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::lab {

namespace {

using cli::unique_fd;

struct pair {
    unique_fd process;
    unique_fd server;
    bool asked = false;  // the reply to its command will be dropped
    bool over = false;
};

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
}

unique_fd made_socket() {
    unique_fd made{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!made) fail("socket");
    return made;
}

// The bytes that have arrived. Empty: the peer is gone.
std::string read_from(const unique_fd& from) {
    std::array<char, 65536> bytes;
    const auto got = ::recv(from.get(), bytes.data(), bytes.size(), 0);
    return {bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

bool write_to(const unique_fd& to, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto sent = ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

class reply_dropper {
  public:
    reply_dropper(const std::string& from, const std::string& to, const std::string& key)
        : server_(address_of(to)), key_word_(fmt::format("\r\n{}\r\n", key)), listener_(made_socket()) {
        const auto here = address_of(from);
        ::unlink(from.c_str());
        if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0) fail(from);
        if (::listen(listener_.get(), SOMAXCONN) != 0) fail(from);
    }

    // Returns when standard input ends.
    void run() {
        while (true) {
            std::vector<pollfd> sources{{STDIN_FILENO, POLLIN, 0}, {listener_.get(), POLLIN, 0}};
            for (const auto& one : pairs_) {
                sources.push_back({one.process.get(), POLLIN, 0});
                sources.push_back({one.server.get(), POLLIN, 0});
            }
            if (::poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR) fail("poll");
            auto source = sources.begin() + 2;
            for (auto& one : pairs_) {
                if ((source++)->revents != 0) from_process(one);
                if ((source++)->revents != 0 && !one.over) from_server(one);
            }
            pairs_.remove_if([](const pair& one) { return one.over; });
            if (sources[1].revents != 0) accept();
            if (sources[0].revents != 0 && !carry_out()) return;
        }
    }

  private:
    bool carry_out() {
        std::string order;
        if (!std::getline(std::cin, order)) return false;
        loses_next_ = true;
        say("loses");
        return true;
    }

    static void say(std::string_view line) {
        fmt::print("{}\n", line);
        std::fflush(stdout);
    }

    void accept() {
        pair one{unique_fd{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)}, made_socket()};
        if (!one.process) return;
        const auto* const to = reinterpret_cast<const sockaddr*>(&server_);
        if (::connect(one.server.get(), to, sizeof server_) == 0) pairs_.push_back(std::move(one));
    }

    void from_process(pair& one) const {
        const auto bytes = read_from(one.process);
        if (loses_next_ && bytes.find(key_word_) != bytes.npos) one.asked = true;
        one.over = bytes.empty() || !write_to(one.server, bytes);
    }

    void from_server(pair& one) {
        const auto bytes = read_from(one.server);
        if (one.asked && loses_next_ && !bytes.starts_with('-')) {
            loses_next_ = false;
            one.over = true;
            say("lost");
            return;
        }
        one.asked = false;
        one.over = bytes.empty() || !write_to(one.process, bytes);
    }

    sockaddr_un server_;
    std::string key_word_;
    unique_fd listener_;
    std::list<pair> pairs_;
    bool loses_next_ = false;
};

}  // namespace

int drop_replies() {
    std::setvbuf(stdin, nullptr, _IONBF, 0);  // poll() and getline() look at the same bytes
    std::string from;
    std::string to;
    std::string key;
    std::getline(std::cin, from);
    std::getline(std::cin, to);
    std::getline(std::cin, key);
    reply_dropper it{from, to, key};
    fmt::print("ready\n");
    std::fflush(stdout);
    it.run();
    return 0;
}

}  // namespace holdfast::lab
